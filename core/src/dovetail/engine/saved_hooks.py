"""What packs tensors as they are kept for backward, and unpacks them there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, NamedTuple

from dovetail.engine.cotangents import edge_again, freed
from dovetail.engine.modes import no_grad
from dovetail.engine.op import Op
from dovetail.engine.scopes import Recorder, unseen
from dovetail.engine.tape import Leaf, Node
from dovetail.engine.tensor import Tensor, alias, wrap
from dovetail.engine.wrapped_ops import WrappedOp, node_of
from dovetail.errors import ArgumentTypeError, AutogradError


class Hooks(NamedTuple):
    """`pack(tensor)` gives what is kept instead, `unpack` of that the tensor."""

    pack: Callable[[Tensor], Any]
    unpack: Callable[[Any], Tensor]


# The hooks that are open here, the innermost last; a text says why there may be none.
_open: Final[ContextVar[tuple[Hooks, ...]]] = ContextVar("saved_hooks", default=())
refused: Final[ContextVar[str | None]] = ContextVar("refused_hooks", default=None)


def set_hooks(hooks: tuple[Hooks, ...]) -> None:
    """Let these be open."""
    _open.set(hooks)


def open_hooks() -> tuple[Hooks, ...]:
    """The hooks that are open, the innermost last."""
    return _open.get()


def packed(saved: Any, source: Tensor | None = None, node: Node | None = None) -> Any:
    """What a node keeps of a tensor: as it is, or what a function makes again.

    Args:
        source: the tensor, where it is at hand.
        node: the node, which knows where the tensor is on the tape.
    """
    hooks = _open.get()
    if not hooks or saved is None or saved[2] is None:
        return saved
    return packed_by(*hooks[-1], saved, source, node)


def packed_by(
    pack: Any, unpack: Any, saved: Any, source: Tensor | None = None,
    node: Node | None = None,
) -> Any:  # fmt: skip
    """The same, by these functions.

    Raises:
        AutogradError: the tensor was written by `pack`.
    """
    native, _, storage, version, slot = saved
    if source is None:
        t = _given(saved, node)
    else:  # levels are followed, which `detach` would end
        t = source.detach() if source._in_parts else alias(source)
    with no_grad(), unseen():
        held = pack(t)
    if storage.version != version:
        raise AutogradError(
            "saved_tensors_hooks", "pack_hook", was="modifying its input in place",
            needed="one that leaves it as it is", remedy="clone() it first",
        )  # fmt: skip
    return partial(_opened, unpack, held, tuple(native.shape)), None, None, 0, slot


def _given(saved: Any, node: Node | None) -> Tensor:
    """The tensor that is kept, on its place on the tape; a leaf is the leaf itself.

    A result of the node is on none: it may be kept, and would keep the node alive.
    """
    native, kind, storage, _, slot = saved
    edge = None if node is None or slot < 0 else edge_again(node, slot)
    leaf = edge.tensor() if type(edge) is Leaf else None
    if leaf is not None and leaf._a is native:
        return leaf
    t = wrap(native, kind)
    t._storage, t._node = storage, edge
    return t


def is_packed(op: Any) -> bool:
    """Whether a node with this op keeps packed tensors."""
    while isinstance(op, WrappedOp):
        if isinstance(op, PackedOp):
            return True
        op = op.op
    return False


def _opened(unpack: Any, held: Any, shape: tuple[int, ...]) -> Tensor:
    found = unpack(held)
    if not isinstance(found, Tensor):
        raise ArgumentTypeError(
            "saved_tensors_hooks", "result of unpack_hook",
            was=f"a {type(found).__name__}", needed="the tensor that was packed",
        )  # fmt: skip
    if tuple(found._a.shape) != shape:
        raise AutogradError(
            "saved_tensors_hooks", "result of unpack_hook",
            was=f"of shape {tuple(found._a.shape)}",
            needed=f"{shape}, as the tensor that was packed",
        )  # fmt: skip
    return found


class PackedOp(WrappedOp):
    """An op whose node keeps packed tensors."""

    def gradients(self, node: Node, ct: Any, create: bool) -> Sequence[Any]:
        held = node.saved
        if held is None:
            raise freed(node)
        with no_grad(), unseen():
            node.saved = tuple(map(_unpacked, held))
        try:
            return super().gradients(node, ct, create)
        finally:
            node.saved = held


def _unpacked(kept: Any) -> Any:
    if type(kept) is list:
        return list(map(_unpacked, kept))
    if kept is None or kept[1] is not None:
        return kept
    t = kept[0]()
    return (t._a, t._kind, None, 0, kept[4])


class Packing(Recorder):
    """Packs what nodes keep, as soon as they are made."""

    def call(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any],
        outs: tuple[Tensor, ...],
    ) -> None:  # fmt: skip
        """Pack what the node of a call keeps."""
        node = node_of(outs)
        if node is None or node.op is not op or not node.saved or op.view:
            return
        node.saved = tuple(
            [
                [packed(each, None, node) for each in k] if type(k) is list
                else packed(k, None, node)
                for k in node.saved
            ]
        )  # fmt: skip
        node.op = PackedOp(op)  # type: ignore[assignment]
