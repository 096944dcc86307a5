"""How many gradients each place of a backward pass waits for.

A pass counts them before it runs, so that it knows of each gradient that arrives
whether it is the last.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail.engine.tape import Edge, Node, Output


def place_of(edge: Edge) -> Any:
    """Identity of a place that gradients arrive at."""
    return (edge.node, edge.index) if type(edge) is Output else edge


# Instead of how many are to come: the next one is the last of several; an edge leads to
# one of several outputs, and what arrives there is counted at their node.
LAST: Final = -1
OUTPUT: Final = -2


def awaited(start: Any) -> dict[Any, int]:
    """How many gradients beside one each node and leaf is sent by a pass."""
    more: dict[Any, int] = {}
    outputs: list[Output] = []
    nodes: list[Any] = [start]
    for node in nodes:  # it grows meanwhile
        for edge in node.edges:
            if edge is None:
                continue
            if edge in more:
                more[edge] += 1
                continue
            more[edge] = 0
            if type(edge) is Node:
                nodes.append(edge)
            elif type(edge) is Output:
                outputs.append(edge)
                if edge.node not in more:
                    more[edge.node] = -1
                    nodes.append(edge.node)
    for output in outputs:
        more[output.node] += more[output] + 1
        more[output] = OUTPUT
    return more
