"""The level of forward mode: arrays that hold a value and its tangent.

How an op moves tangents follows from its gradient, which is linear in its cotangent:
the derivative by the cotangent is the gradient's transpose, and that is it. Ops whose
gradient is that of their body run the body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dovetail.device_api.contract import Ints
from dovetail.dtypes import DType
from dovetail.engine.levels import LevelBackend
from dovetail.engine.op import Op
from dovetail.engine.open_levels import Level
from dovetail.engine.tensor import Tensor
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

    def shown(self, a: Dual) -> str:
        return f"DualTensor({a.inner!r}, tangent={a.tangent!r})"

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
            tangent.zero_()

    def copy(self, target: Dual, source: Dual) -> None:
        changed(target, source, lambda x, src: x.copy_(src))


class Forward(Level):
    """One call in forward mode, or one open `dual_level`."""

    name = "forward mode"
    backend: ClassVar[type[LevelBackend]] = DualBackend


__all__ = ["Dual", "DualBackend", "Forward"]
