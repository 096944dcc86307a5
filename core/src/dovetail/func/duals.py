"""The level of forward mode: arrays that hold a value and its tangent.

How an op moves tangents follows from its gradient, which is linear in its cotangent:
the derivative by the cotangent is the gradient's transpose, and that is it. Ops whose
gradient is that of their body run the body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar
from weakref import ref

import numpy as np

from dovetail.device_api.contract import Ints
from dovetail.dtypes import DType
from dovetail.engine.level_hooks import raised, written_later
from dovetail.engine.levels import LevelBackend, cut_off, depth_of, lifted
from dovetail.engine.op import Op
from dovetail.engine.open_levels import Level, open_levels
from dovetail.engine.tape_of_views import View
from dovetail.engine.tensor import Tensor, fresh
from dovetail.func.dual_rules import has_rule, rule_for
from dovetail.func.dual_values import Dual, changed
from dovetail.ops.strided import as_strided


class DualBackend(LevelBackend):
    """The backend of tensors with tangents."""

    name = "forward mode"
    array = Dual

    def constant(self, x: Tensor) -> Dual:
        return Dual(x, None)

    def has_rule(self, op: Op, dtype: DType) -> bool:
        return has_rule(op, dtype)

    def rule(self, op: Op, attrs: dict[str, Any]) -> Callable[..., Any] | None:
        return rule_for(self, op, attrs)

    def empty(self, shape: Ints, dtype: DType, index: int) -> Dual:
        return Dual(self.new_below(shape, dtype, index), None)

    def held(self, a: Dual) -> tuple[Tensor, ...]:
        tangent = a.tangent
        return (a.inner,) if tangent is None else (a.inner, tangent)

    def without_tangent(self, a: Dual) -> Tensor:
        return a.inner

    def detached(self, a: Dual) -> Dual:
        return Dual(cut_off(a.inner), None)

    def left(self, a: Dual) -> Tensor | None:
        return a.inner if a.tangent is None else None

    def shown(self, a: Dual) -> str:
        tangent = a.tangent
        if tangent is None:
            return repr(a.inner)
        return f"DualTensor({a.inner!r}, tangent={tangent!r})"

    def copy_out(self, a: Dual) -> np.ndarray[Any, Any]:
        return a.inner._kind.backend.copy_out(a.inner._a)

    def view(self, a: Dual, shape: Ints, strides: Ints, offset: int) -> Dual:
        def take(x: Tensor) -> Tensor:
            own = tuple(x._kind.backend.geometry(x._a, x._a)[0])
            found: Tensor = as_strided(x, shape, strides, offset, own)
            return found

        return a.seen(take)

    def geometry(self, a: Dual, root: Dual) -> tuple[Ints, int]:
        x = a.inner
        return x._kind.backend.geometry(x._a, root.inner._a)

    def fill(self, a: Dual, value: complex) -> None:
        a.inner.fill_(value)
        tangent = a.tangent
        if tangent is not None:
            a.written_tangent(tangent).zero_()

    def copy(self, target: Dual, source: Dual) -> None:
        changed(target, source, lambda x, src: x.copy_(src))


class Forward(Level):
    """One call in forward mode, or one open `dual_level`.

    Attributes:
        raised: tensors that are of a level below, and may have tangents meanwhile.
    """

    name = "forward mode"
    backend: ClassVar[type[LevelBackend]] = DualBackend

    def __init__(self) -> None:
        self.raised: list[ref[Tensor]] = []

    def closed(self) -> None:
        for found in self.raised:
            x = found()
            if x is not None and type(x._a) is Dual:
                _become(x, x._a.inner)


def _become(x: Tensor, other: Tensor) -> None:
    """Let a tensor be what another one is."""
    x._a, x._kind = other._a, other._kind
    x._node, x._storage = other._node, other._storage


def _forward_depth() -> int:
    """The depth of the innermost level of forward mode, 0 where there is none."""
    levels = open_levels()
    depths = [at for at, level in enumerate(levels, 1) if type(level) is Forward]
    return depths[-1] if depths else 0


def _written_later(x: Tensor) -> Tensor:
    """A new tensor as a constant of forward mode, which may get a tangent."""
    depth = _forward_depth()
    if not x._kind.dtype.is_inexact or depth_of(x._kind.backend) >= depth:
        return x
    made = lifted(x, depth)
    open_levels()[depth - 1].raised.append(ref(made))
    return made


def _raised(x: Tensor, values: Tensor) -> Tensor:
    """Bring a tensor that nobody looks into to the level of its new values."""
    values = lifted(values, 0)
    backend, depth = values._kind.backend, depth_of(values._kind.backend)
    if not isinstance(backend, DualBackend) or depth_of(x._kind.backend) >= depth:
        return values
    if x._storage is None and type(x._node) is not View:
        below = fresh()
        _become(below, x)
        _become(x, lifted(below, depth))
        backend.level().raised.append(ref(x))
    return values


written_later.append(_written_later)
raised.append(_raised)


__all__ = ["Dual", "DualBackend", "Forward"]
