"""What a vjp is given: the cotangent, kept tensors, shapes, attributes, by name."""

from __future__ import annotations

from typing import Any

from dovetail.engine.op import Op
from dovetail.engine.tape import Node, Output, Saved, moved, refuse_version
from dovetail.engine.tensor import Tensor, fresh, wrap
from dovetail.errors import AutogradError


def cotangents(op: Op, node: Node, ct: Any, create: bool) -> Any:
    """The cotangents of a node's inputs, from that of its outputs.

    Raises:
        AutogradError: what the vjp needs was freed, or has been written since.
    """
    saved = node.saved
    if saved is None:
        raise freed(node)
    if op.rules is not None:
        return _by_argument(op, node, ct, create)
    args: list[Any] = []
    for source, at in op.vjp_positional:
        if source == "ct":
            args.append(ct)
        elif source == "saved" and type(saved[at]) is tuple:
            native, kind, storage, version, slot = saved[at]
            if storage is not None and storage.version != version:
                native, kind, storage = renewed(node, at)
            t = fresh()
            t._a = native
            t._kind = kind
            t._storage = storage
            t._node = edge_again(node, slot) if create else None
            args.append(t)
        else:
            args.append(_argument(op, node, source, at, create))
    assert op.vjp is not None
    if not op.vjp_keywords:
        return op.vjp(*args)
    kwargs = {
        name: ct if source == "ct" else _argument(op, node, source, at, create)
        for name, source, at in op.vjp_keywords
    }
    return op.vjp(*args, **kwargs)


def freed(node: Node) -> AutogradError:
    """The error for a node that has given up what it kept."""
    return AutogradError(
        f"backward of {node.op.name}", "graph", was="freed: backward was called a "
        "second time", needed="saved tensors",
        remedy="pass retain_graph=True to the first backward",
    )  # fmt: skip


def renewed(node: Node, at: int, kept: Any = None) -> tuple[Any, Any, Any]:
    """Array, kind and storage of something kept, whose storage counts more writes.

    Args:
        kept: which of it, where that is a list.

    Raises:
        AutogradError: it has been written since.
    """
    assert node.saved is not None
    kept = kept or node.saved[at]
    found = moved(node, kept)
    if found is None:
        raise refuse_version(kept, node.op.name, node.op.vjp_needs[at])
    return found


def argument(node: Node, source: str, at: Any, create: bool) -> Any:
    """One argument of a rule, from where its declaration says."""
    return _argument(node.op, node, source, at, create)


def _by_argument(op: Op, node: Node, ct: Any, create: bool) -> list[Any]:
    """The gradient of each argument by its own rule, where it goes somewhere."""
    assert op.rules is not None
    found: list[Any] = []
    for i, entry in enumerate(op.rules):
        at, length = _position(node, i)
        needed = node.edges[at : at + (1 if length is None else length)]
        if entry is None or not any(needed):
            found += [None] * len(needed)
            continue
        rule, sources = entry
        args = [
            ct if source == "ct" else _argument(op, node, source, name, create)
            for source, name in sources
        ]
        found += [rule(*args)] if length is None else rule(*args)
    return found


def _argument(op: Op, node: Node, source: str, at: Any, create: bool) -> Any:
    """One argument of a vjp, from where its declaration says."""
    if source == "saved":
        return _unpack(op, node, at, create)
    if source == "attr":
        return node.attrs[at]
    if source == "shape" and node.extra is None:
        shape = node.shapes[at]  # type: ignore[index]
        return shape if shape is None else tuple(shape)
    if source == "need":
        need = tuple([e is not None for e in node.edges])
        return (
            need
            if node.extra is None or _structure(node) is None
            else _structured(node, need)
        )
    if source == "shape":
        return _shape_of(node, at)
    assert node.kinds is not None
    kind = node.kinds[_position(node, at)[0]]
    return kind if source == "kind" else kind.dtype


def _structure(node: Node) -> tuple[int | None, ...] | None:
    return None if node.extra is None else node.extra.structure


def _position(node: Node, at: int) -> tuple[int, int | None]:
    """Where a parameter's inputs start among all, and how many if it is a list."""
    structure = _structure(node)
    if structure is None:
        return at, None
    start = sum(1 if n is None else n for n in structure[:at])
    return start, structure[at]


def _shape_of(node: Node, at: int) -> Any:
    start, length = _position(node, at)
    assert node.shapes is not None
    if length is not None:
        return [tuple(s) for s in node.shapes[start : start + length]]
    shape = node.shapes[start]
    return None if shape is None else tuple(shape)


def _structured(node: Node, need: tuple[bool, ...]) -> tuple[Any, ...]:
    """`need` with a list for each list parameter."""
    found: list[Any] = []
    start = 0
    for length in _structure(node) or ():
        if length is None:
            found.append(need[start])
            start += 1
        else:
            found.append(list(need[start : start + length]))
            start += length
    return tuple(found)


def _unpack(op: Op, node: Node, at: int, create: bool) -> Any:
    """A kept tensor (or list of them), if nobody has written it since."""
    assert node.saved is not None
    value = node.saved[at]
    if value is None:
        return None
    if type(value) is list:
        return [None if v is None else _tensor(op, node, at, v, create) for v in value]
    return _tensor(op, node, at, value, create)


def _tensor(op: Op, node: Node, at: int, saved: Saved, create: bool) -> Tensor:
    native, kind, storage, version, slot = saved
    if storage is not None and storage.version != version:
        native, kind, storage = renewed(node, at, saved)
    t = wrap(native, kind)
    t._storage = storage
    if create:
        t._node = edge_again(node, slot)
    return t


def edge_again(node: Node, slot: int) -> Any:
    """The place on the tape of a kept input or output."""
    if slot >= 0:
        return node.edges[slot]
    outputs = node.outputs
    if outputs is None:
        return node
    if outputs[-1 - slot][1].dtype.category < 2:
        return None
    return Output(node, -1 - slot)
