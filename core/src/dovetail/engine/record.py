"""Recording: a call becomes a node, with edges and what its vjp asked to keep.

The calls of the fast path have it written out by `dovetail.engine.record_source`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.modes import grad_enabled
from dovetail.engine.op import Op
from dovetail.engine.tape import Node, Output, save
from dovetail.engine.tape_of_views import View
from dovetail.engine.tensor import Tensor


def record(
    op: Op, outs: tuple[Tensor, ...], inputs: tuple[Any, ...], attrs: dict[str, Any]
) -> None:
    """Put a call on the tape if any input requires gradients.

    `inputs` has an entry a tensor parameter: a Tensor, None, or a list of Tensors.
    """
    if not grad_enabled() or op.vjp is None:
        return
    if len(outs) == 1 and outs[0]._kind.dtype.category < 2:
        return  # bools and integers have no gradient, e.g. a cast to them
    flat, structure = _flatten(inputs) if op.has_list else (inputs, None)
    edges, needed = [], False
    for x in flat:
        edge = None if x is None else x._node
        if type(edge) is View:
            edge = edge.edge()
        edges.append(edge)
        needed = needed or edge is not None
    if not needed:
        return
    shapes = tuple([None if x is None else x._a.shape for x in flat])
    node = Node(op, tuple(edges), shapes, attrs)
    if structure is not None:
        node.more().structure = structure
    if op.wants_dtypes:
        node.kinds = tuple([None if x is None else x._kind for x in flat])
    if len(outs) == 1:
        outs[0]._node = node
    else:
        node.more().outputs = tuple((y._a.shape, y._kind) for y in outs)
        for i, y in enumerate(outs):
            if y._kind.dtype.category >= 2:
                y._node = Output(node, i)
    if op.vjp_needs:
        node.saved = _saved(op, outs, inputs, edges, structure)


def _flatten(inputs: tuple[Any, ...]) -> tuple[list[Any], tuple[int | None, ...]]:
    """Inputs in one list, and for each parameter its length if it was a list."""
    flat: list[Any] = []
    structure: list[int | None] = []
    for value in inputs:
        if isinstance(value, list | tuple):
            flat += value
            structure.append(len(value))
        else:
            flat.append(value)
            structure.append(None)
    return flat, tuple(structure)


def _saved(
    op: Op, outs: tuple[Tensor, ...], inputs: tuple[Any, ...], edges: list[Any],
    structure: tuple[int | None, ...] | None,
) -> tuple[Any, ...]:  # fmt: skip
    """What the vjp asks for, but not what only an unneeded gradient uses."""
    starts = _starts(len(inputs), structure)
    kept: list[Any] = []
    for at, users in op.save_plan:
        if users is not None and not any(
            edge is not None for u in users for edge in edges[starts[u] : starts[u + 1]]
        ):
            kept.append(None)
            continue
        if at < 0:
            kept.append(save(outs[-1 - at], at))
            continue
        value, slot = inputs[at], starts[at]
        if isinstance(value, list | tuple):
            kept.append(
                [None if v is None else save(v, slot + i) for i, v in enumerate(value)]
            )
        else:
            kept.append(None if value is None else save(value, slot))
    return tuple(kept)


def _starts(count: int, structure: tuple[int | None, ...] | None) -> Sequence[int]:
    """Where each parameter's inputs start in the flat list."""
    if structure is None:
        return range(count + 1)
    starts = [0]
    for length in structure:
        starts.append(starts[-1] + (1 if length is None else length))
    return starts
