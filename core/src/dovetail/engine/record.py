"""Recording: a call becomes a node, with edges and what its vjp asked to keep.

`record_unary` and `record_binary` are `record` for the calls of the fast path, where
every step counts.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail.engine.modes import grad_enabled
from dovetail.engine.op import Op
from dovetail.engine.tape import Node, Output, Storage, next_seq, save
from dovetail.engine.tape_of_views import View
from dovetail.engine.tensor import Tensor

_new: Final = Node.__new__


def record_unary(op: Op, y: Tensor, x: Tensor, attrs: dict[str, Any]) -> None:
    """Put a call with one input on the tape if it requires gradients."""
    if not grad_enabled() or y._kind.dtype.category < 2:
        return
    edge = x._node
    if type(edge) is View:
        edge = edge.edge()
        if edge is None:
            return
    node = _new(Node)
    node.op = op
    node.edges = (edge,)
    node.shapes = (x._a.shape,) if op.wants_shapes else None
    node.attrs = attrs
    node.seq = next_seq()
    node.extra = None
    y._node = node
    node.kinds = (x._kind,) if op.wants_dtypes else None
    needs = op.vjp_needs
    if not needs:
        node.saved = ()
    elif len(needs) == 1:
        node.saved = (save(y, -1) if op.saves_output else save(x, 0),)
    else:
        node.saved = tuple(
            [save(y, -1) if n in op.outputs else save(x, 0) for n in needs]
        )


def record_binary(op: Op, y: Tensor, a: Tensor, b: Any, constant: Any) -> None:
    """Put an elementwise call or product of two on the tape.

    `b` is None where the second operand is a number, `constant` its native array.
    """
    if not grad_enabled() or y._kind.dtype.category < 2:
        return
    edge_a = a._node
    if type(edge_a) is View:
        edge_a = edge_a.edge()
    if b is None:
        edge_b = None
    else:
        edge_b = b._node
        if type(edge_b) is View:
            edge_b = edge_b.edge()
    if edge_a is None and edge_b is None:
        return
    node = _new(Node)
    node.op = op
    node.edges = (edge_a, edge_b)
    node.shapes = (a._a.shape, constant.shape)
    node.attrs = _NO_ATTRS
    node.seq = next_seq()
    node.extra = None
    y._node = node
    node.kinds = (a._kind, a._kind) if op.wants_dtypes else None
    saved: list[Any] = []
    for slot, users in op.save_plan:
        if users is not None and not (
            (edge_a is not None and 0 in users) or (edge_b is not None and 1 in users)
        ):
            saved.append(None)
            continue
        if slot == 1 and b is None:
            saved.append((constant, a._kind, None, 0, 1))
            continue
        x = a if slot == 0 else b if slot == 1 else y
        storage = x._storage
        if storage is None:
            storage = x._storage = Storage(x._a)
        saved.append((x._a, x._kind, storage, storage.version, slot))
    node.saved = tuple(saved)


_NO_ATTRS: Final[dict[str, Any]] = {}


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


def _starts(count: int, structure: tuple[int | None, ...] | None) -> list[int]:
    """Where each parameter's inputs start in the flat list."""
    starts = [0]
    for i in range(count):
        length = structure[i] if structure is not None else None
        starts.append(starts[-1] + (1 if length is None else length))
    return starts
