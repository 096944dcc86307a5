"""`replace_pattern`: pieces of a graph put in the place of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dovetail.nn import Module

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Node

Filter = Callable[[Any, Graph, Graph], bool]


class Match(NamedTuple):
    """A place where a pattern was found: its last node, and nodes by the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place where a pattern was replaced, and the steps that are there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node] = field(default_factory=list)


def replace_pattern(
    gm: GraphModule, pattern: Callable[..., Any] | GraphModule,
    replacement: Callable[..., Any] | GraphModule,
) -> list[Match]:  # fmt: skip
    """Put one piece of a graph wherever another one is.

    Args:
        gm: what is changed.
        pattern: a function or module of the same inputs as `replacement`; where its
            steps are, with nothing but its outputs used by others, is a place.
        replacement: what is put there.

    Returns: the places, which do not overlap.
    """
    found = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(m.anchor, m.nodes_map) for m in found]


def replace_pattern_with_filters(
    gm: GraphModule, pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule | None = None,
    match_filters: list[Filter] | None = None, ignore_literals: bool = False,
) -> list[ReplacedPatterns]:  # fmt: skip
    """The same, where all filters say so.

    Args:
        match_filters: called with a Match, the graph and the pattern's graph.
        ignore_literals: whether numbers in the pattern stand for any.
    """
    wanted, given = _graph_of(pattern), _graph_of(replacement)
    replaced = []
    became: dict[Node, Node] = {}
    for match in list(_matches(gm.graph, wanted, ignore_literals)):
        if all(f(match, gm.graph, wanted) for f in match_filters or ()):
            replaced.append(_replace(gm, match, wanted, given, replacement, became))
    gm.recompile()
    if isinstance(replacement, Module):
        gm.graph.lint()
    return replaced


def _graph_of(given: Any) -> Graph:
    if isinstance(given, Graph):
        return given
    return (
        given.graph if isinstance(given, GraphModule) else symbolic_trace(given).graph
    )


def _matches(graph: Graph, pattern: Graph, any_literal: bool) -> Iterator[Match]:
    """The places of a pattern, each node in one of them at most."""
    output = pattern.output_node()
    anchors = output.all_input_nodes
    taken: set[Node] = set()
    for node in graph.nodes:
        found = _Found(any_literal)
        if not anchors or not found.node(anchors[-1], node):
            continue
        if not all(found.anywhere(a, graph) for a in anchors[:-1]):
            continue
        inner = {n for p, n in found.of.items() if p.op != "placeholder"}
        if not inner & taken and found.closed(anchors):
            taken |= inner
            yield Match(node, {**found.of, output: node})


class _Found:
    """What nodes of a pattern are in a graph."""

    def __init__(self, any_literal: bool) -> None:
        self.of: dict[Node, Node] = {}
        self.any_literal = any_literal

    def anywhere(self, pattern: Node, graph: Graph) -> bool:
        """Whether another output of the pattern is somewhere."""
        if pattern in self.of:
            return True
        for node in graph.nodes:
            before = dict(self.of)
            if self.node(pattern, node):
                return True
            self.of = before
        return False

    def node(self, pattern: Node, node: Node) -> bool:
        """Whether a node is what one of the pattern says, with all before it."""
        if pattern in self.of:
            return self.of[pattern] is node
        if pattern.op != "placeholder":
            if pattern.op != node.op or pattern.target != node.target:
                return False
            if node in self.of.values():
                return False
        self.of[pattern] = node
        if pattern.op == "placeholder":
            return True
        return self.value(pattern.args, node.args) and self.value(
            dict(pattern.kwargs), dict(node.kwargs)
        )

    def value(self, pattern: Any, value: Any) -> bool:
        """Whether an argument is what one of the pattern says."""
        if isinstance(pattern, Node):
            if isinstance(value, Node):
                return self.node(pattern, value)
            return pattern.op == "placeholder" and self._literal(pattern, value)
        if isinstance(pattern, list | tuple):
            same = isinstance(value, list | tuple) and len(value) == len(pattern)
            return same and all(map(self.value, pattern, value))
        if isinstance(pattern, dict):
            same = isinstance(value, dict) and set(value) == set(pattern)
            return same and all(self.value(pattern[k], value[k]) for k in pattern)
        return self.any_literal or bool(pattern == value)

    def _literal(self, pattern: Node, value: Any) -> bool:
        known = self.of.setdefault(pattern, value)
        return known is value or bool(known == value)

    def closed(self, anchors: list[Node]) -> bool:
        """Whether nothing but the pattern's outputs is used by others."""
        inner = {n for p, n in self.of.items() if p.op not in ("placeholder", "output")}
        ends = {self.of[a] for a in anchors}
        return all(
            set(node.users) <= inner
            for pattern, node in self.of.items()
            if pattern.op not in ("placeholder", "get_attr") and node not in ends
        )


def _replace(
    gm: GraphModule, match: Match, pattern: Graph, replacement: Graph, source: Any,
    became: dict[Node, Node],
) -> ReplacedPatterns:  # fmt: skip
    """Put the steps of a replacement where a pattern was found.

    Args:
        became: what has replaced nodes of other places; gets those of this one.
    """
    found = [match.nodes_map.get(n) for n in pattern.find_nodes(op="placeholder")]
    inputs = [became.get(n, n) if isinstance(n, Node) else n for n in found]
    of: dict[Node, Any] = dict(
        zip(replacement.find_nodes(op="placeholder"), inputs, strict=True)
    )
    made: list[Node] = []
    with gm.graph.inserting_before(match.anchor):
        for node in replacement.nodes:
            if node.op not in ("placeholder", "output"):
                _own(gm, source, node)
                of[node] = gm.graph.node_copy(node, of.__getitem__)
                made.append(of[node])
    old, new = pattern.output_node(), replacement.output_node()
    for before, after in zip(old.all_input_nodes, new.all_input_nodes, strict=True):
        became[match.nodes_map[before]] = of[after]
        match.nodes_map[before].replace_all_uses_with(of[after])
    inner = {
        n for p, n in match.nodes_map.items() if p.op not in ("placeholder", "output")
    }
    for node in sorted(inner, reverse=True):
        if not node.users:
            gm.graph.erase_node(node)
    return ReplacedPatterns(match.anchor, match.nodes_map, made)


def _own(gm: GraphModule, source: Any, node: Node) -> None:
    """Have what a step of the replacement asks its module for."""
    asks = node.op in ("call_module", "get_attr") and isinstance(source, Module)
    if asks and not hasattr(gm, str(node.target).split(".")[0]):
        _copy_attr(source, gm, str(node.target))
