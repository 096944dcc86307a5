"""Graphs as lists of records, which pickles hold: a linked list is too deep for one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .node import Node, map_aggregate, map_arg
from .public_names import public_place

if TYPE_CHECKING:
    from .graph import Graph


class _Place:
    """A place of a node, which is no container."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


class _Named:
    """A function, by what users call it: more than one may have its own name."""

    __slots__ = ("name", "room")

    def __init__(self, room: str, name: str) -> None:
        self.room, self.name = room, name

    def found(self) -> Any:
        """The function."""
        path = f"dovetail.{self.room}" if self.room else "dovetail"
        return getattr(import_module(path), self.name)


def _target(target: Any) -> Any:
    public = public_place(target) if callable(target) else None
    return target if public is None else _Named(*public)


def records(graph: Graph) -> list[tuple[Any, ...]]:
    """The steps of a graph, without links."""
    places = {node: _Place(place) for place, node in enumerate(graph.nodes)}
    return [
        (
            node.op, _target(node.target), map_arg(node.args, places.__getitem__),
            map_arg(node.kwargs, places.__getitem__), node.name, node.type,
        )
        for node in graph.nodes
    ]  # fmt: skip


def restore(graph: Graph, steps: list[tuple[Any, ...]]) -> None:
    """Put the steps into an empty graph."""
    made: list[Node] = []

    def node_of(value: Any) -> Any:
        return made[value.place] if isinstance(value, _Place) else value

    for op, named, args, kwargs, name, kind in steps:
        target = named.found() if isinstance(named, _Named) else named
        made.append(
            graph.create_node(
                op, target, map_aggregate(args, node_of),
                map_aggregate(kwargs, node_of), name, kind,
            )
        )  # fmt: skip
