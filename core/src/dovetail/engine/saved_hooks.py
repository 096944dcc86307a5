"""What packs tensors as they are kept for backward, and unpacks them there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, NamedTuple

from dovetail.engine.cotangents import freed
from dovetail.engine.modes import no_grad
from dovetail.engine.op import Op
from dovetail.engine.scopes import Recorder, unseen
from dovetail.engine.tape import Node
from dovetail.engine.tensor import Tensor, wrap
from dovetail.engine.wrapped_ops import WrappedOp, node_of
from dovetail.errors import AutogradError


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


def packed(saved: Any, source: Tensor | None = None) -> Any:
    """What a node keeps of a tensor: as it is, or what a function makes again."""
    hooks = _open.get()
    if not hooks or saved is None or saved[2] is None:
        return saved
    native, kind, storage, _, slot = saved
    t = source
    if t is None:
        t = wrap(native, kind)
        t._storage = storage
    pack, unpack = hooks[-1]
    with unseen():
        held = pack(t.detach() if source is not None else t)
    return partial(_opened, unpack, held, tuple(native.shape)), None, None, 0, slot


def _opened(unpack: Any, held: Any, shape: tuple[int, ...]) -> Tensor:
    found = unpack(held)
    if not isinstance(found, Tensor) or tuple(found._a.shape) != shape:
        raise AutogradError(
            "saved_tensors_hooks", "unpack", was=f"a result of {type(found).__name__}",
            needed=f"a tensor of shape {shape}, as was packed",
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
            [list(map(packed, k)) if type(k) is list else packed(k) for k in node.saved]
        )
        node.op = PackedOp(op)  # type: ignore[assignment]
