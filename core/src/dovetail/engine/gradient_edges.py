"""Edges of the graph by themselves: where gradients start and go without a tensor."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail.engine.kinds import Kind
from dovetail.engine.tape import Leaf, Node, Output
from dovetail.engine.tape_of_views import edge_of
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentTypeError, AutogradError


class Spec(NamedTuple):
    """What a tensor at an edge is like."""

    shape: tuple[int, ...]
    kind: Kind


class GradientEdge(NamedTuple):
    """Where a gradient goes: a node, and which of its outputs it is of.

    Attributes:
        ownership_token: shape and kind of the tensor that the edge was taken of.
    """

    node: Node | Leaf
    output_nr: int
    ownership_token: Spec | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of a tensor goes.

    Raises: AutogradError for a tensor that requires none.
    """
    edge = edge_of(tensor._node)
    if edge is None:
        raise AutogradError(
            "get_gradient_edge", "tensor", was="one that does not require gradients",
            needed="a tensor that does",
        )  # fmt: skip
    spec = Spec(tuple(tensor._a.shape), tensor._kind)
    if type(edge) is Output:
        return GradientEdge(edge.node, edge.index, spec)
    return GradientEdge(edge, 0, spec)  # type: ignore[arg-type]


def by_edges(op: str, values: Any, given: Any = None) -> Any:
    """Tensors and edges as tensors: an edge as one that is where the edge leads.

    Args:
        op: who asks.
        values: one, or several in order.
        given: their gradients, which have the shapes of those; None for what is only
            asked for.

    Raises:
        ArgumentTypeError: what an edge was taken of is not known, nor its gradient.
    """
    if isinstance(values, GradientEdge):
        like = given[0] if isinstance(given, list | tuple) else given
        return _stand_in(op, values, like)
    if not isinstance(values, list | tuple):
        return values
    if not any(isinstance(x, GradientEdge) for x in values):
        return values
    likes = given if isinstance(given, list | tuple) else [given] * len(values)
    return [
        _stand_in(op, x, like) if isinstance(x, GradientEdge) else x
        for x, like in zip(values, likes, strict=True)
    ]


def has_edges(values: Any) -> bool:
    """Whether there are edges among what a caller names."""
    if isinstance(values, GradientEdge):
        return True
    several = isinstance(values, list | tuple)
    return several and any(isinstance(x, GradientEdge) for x in values)


def _stand_in(op: str, edge: GradientEdge, like: Tensor | None) -> Tensor:
    """A tensor of the right shape at the end of an edge; nobody reads its numbers."""
    shape, kind = edge.ownership_token or _spec(op, edge, like)
    made = wrap(kind.backend.empty(shape, kind.dtype, kind.index), kind)
    node = edge.node
    several = isinstance(node, Node) and node.outputs is not None
    made._node = Output(node, edge.output_nr) if several else node  # type: ignore[arg-type]
    return made


def _spec(op: str, edge: GradientEdge, like: Tensor | None) -> Spec:
    """What the tensor of an edge that a program put together is like."""
    node = edge.node
    if isinstance(node, Node) and node.outputs is not None:
        shape, kind = node.outputs[edge.output_nr]
        return Spec(tuple(shape), kind)
    if like is None and isinstance(node, Leaf):
        like = node.tensor()
    if like is None:
        raise ArgumentTypeError(
            op, "edge", was="put together of a node and a number, without a gradient",
            needed="one whose shape is known", remedy="use get_gradient_edge(tensor)",
        )  # fmt: skip
    return Spec(tuple(like._a.shape), like._kind)
