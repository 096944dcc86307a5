"""What a graph has to be so that it can be run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .node import Node

if TYPE_CHECKING:
    from .graph import Graph


def lint(graph: Graph) -> None:
    """Check order, names and targets.

    Raises: RuntimeError where something is used before it is there, or is not.
    """
    seen: dict[str, Node] = {}
    for node in graph.nodes:
        if node.graph is not graph:
            raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
        for used in node.all_input_nodes:
            if used._erased or used.graph is not graph:
                raise RuntimeError(
                    f"Argument '{used}' of Node '{node}' does not belong to this "
                    "Graph, but was used as an argument! If you are copying nodes from "
                    "another graph, make sure to transform the arguments with node_copy"
                )
            if seen.get(used.name) is not used:
                raise RuntimeError(
                    f"Argument '{used}' of Node '{node}' was used before it has been "
                    "defined! Please check that Nodes in the graph are topologically "
                    "ordered"
                )
        if node.name in seen:
            raise RuntimeError(f"Node redefined name {node.name}!")
        seen[node.name] = node
        if graph.owning_module is not None and node.op in ("get_attr", "call_module"):
            _found(graph.owning_module, str(node.target), node)


def _found(module: Any, target: str, node: Node) -> None:
    for part in target.split("."):
        if not hasattr(module, part):
            raise RuntimeError(
                f"Node {node} target {target} references nonexistent attribute {part}"
            )
        module = getattr(module, part)
