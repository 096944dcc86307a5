"""Forward mode by hand: tensors that carry a tangent through ordinary calls."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from dovetail.engine.levels import depth_of
from dovetail.engine.modes import grad_enabled
from dovetail.engine.open_levels import enter, leave, open_levels
from dovetail.engine.tape import Node
from dovetail.engine.tape_entries import tape_entry
from dovetail.engine.tape_of_views import edge_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import AutogradError, DTypeError, NotSupported
from dovetail.func.dual_values import Dual, followed
from dovetail.func.duals import Forward
from dovetail.func.forward import dual


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent, None for a constant."""

    primal: Tensor
    tangent: Tensor | None


class _Opened(NamedTuple):
    """A level that users close, its depth, and what was made in it."""

    level: Forward
    depth: int
    made: WeakSet[Dual]
    token: Token[WeakSet[Dual] | None]


_levels: Final[ContextVar[tuple[_Opened, ...]]] = ContextVar("dual_levels", default=())


def enter_dual_level() -> int:
    """Open a level in which tensors may have tangents; its number.

    Raises: NotSupported if one is open: `func.jvp` may be nested.
    """
    if _levels.get():
        raise NotSupported(
            "forward mode", "level", was="opened within another one",
            needed="one at a time", remedy="nest dovetail.func.jvp instead",
        )  # fmt: skip
    level, made = Forward(), WeakSet[Dual]()
    opened = _Opened(level, enter(level), made, followed.set(made))
    _levels.set((*_levels.get(), opened))
    return len(_levels.get()) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; its tensors have no tangents any more."""
    if not _levels.get():
        raise AutogradError("forward mode", "level", was="not open", needed="one")
    *outer, last = _levels.get()
    _levels.set(tuple(outer))
    followed.reset(last.token)
    leave(last.level)
    for made in last.made:
        made.drop_tangent()


class dual_level:
    """Context manager in which tensors may have tangents.

    Examples:
        >>> import dovetail as torch
        >>> import dovetail.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        ...     fwAD.unpack_dual(x * x).tangent
        tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """`tensor` with a tangent, of the same shape and dtype.

    Raises: AutogradError where no level is open, DTypeError for integers.
    """
    if not _levels.get():
        raise AutogradError(
            "make_dual", "level", was="not open: no level exists",
            needed="one", remedy="call it within forward_ad.dual_level()",
        )  # fmt: skip
    given: tuple[Any, ...] = (tensor, tangent)
    for x in given:
        if isinstance(x, Tensor) and not x.dtype.is_inexact:
            raise DTypeError(
                "make_dual", "tensor", was=x.dtype.name,
                needed="a floating point or complex dtype",
            )  # fmt: skip
    depth = _levels.get()[-1].depth
    value, along = (_below(x, depth) for x in given)
    made = dual("make_dual", value, along, depth)
    edge = edge_of(tensor._node)
    if edge is not None and grad_enabled():
        made._node = Node(_MADE, (edge,), None, {})  # gradients have tangents, too
    return made


def _with_tangent(tensor: Tensor) -> Any:
    """A tensor with a tangent, by its value."""


_MADE: Final = tape_entry("make_dual", _with_tangent, lambda ct: ct)


def _below(x: Any, depth: int) -> Any:
    """The value of a tensor of the level at `depth`."""
    own = depth_of(x._kind.backend) if isinstance(x, Tensor) else 0
    if own > depth:
        raise NotSupported(
            "make_dual", "tensor", was="of a transform that was opened later",
            needed="one from outside of it", remedy="use dovetail.func.jvp",
        )  # fmt: skip
    return x._a.inner if own == depth else x


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Value and tangent of a tensor; the tangent of a constant is None."""
    if not _levels.get() or depth_of(tensor._kind.backend) > len(open_levels()):
        return UnpackedDualTensor(tensor, None)
    native: Any = tensor._a
    depth = _levels.get()[-1].depth
    if not isinstance(native, Dual) or depth_of(tensor._kind.backend) != depth:
        return UnpackedDualTensor(tensor, None)
    native.lend()
    return UnpackedDualTensor(native.inner, native.tangent)


__all__ = [
    "UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level",
    "make_dual", "unpack_dual",
]  # fmt: skip
