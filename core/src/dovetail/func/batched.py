"""The level of `vmap`: arrays that hold a tensor for every row of a batch.

An array shows the shape of one row; the tensor below it has the batch as its first dim,
or none where all rows have one value. So functions see shapes as if for one row, and
rules see dims that are all one further.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

import numpy as np

from dovetail.device_api.contract import Ints
from dovetail.dtypes import DType
from dovetail.engine.levels import LevelBackend, cut_off
from dovetail.engine.op import Op
from dovetail.engine.open_levels import Level, refuse_values
from dovetail.engine.tensor import Tensor
from dovetail.errors import AutogradError
from dovetail.func.batch_rules import has_rule, rule_for
from dovetail.func.batch_shapes import Batched, aligned
from dovetail.func.batch_writes import refuse_one_for_all
from dovetail.ops.strided import as_strided

_MASKS: Final = (
    "choose by where() instead of if, and by masks instead of item(), tolist(), "
    "nonzero() or indices that are bools"
)


class BatchBackend(LevelBackend):
    """The backend of batched tensors."""

    name = "vmap"
    array = Batched

    def rows(self) -> int:
        """How many rows the batch has."""
        found: int = self.level().rows
        return found

    def constant(self, x: Tensor) -> Batched:
        return Batched(x, False)

    def has_rule(self, op: Op, dtype: DType) -> bool:
        return has_rule(op)

    def rule(self, op: Op, attrs: dict[str, Any]) -> Callable[..., Any] | None:
        return rule_for(self, op, attrs)

    def empty(self, shape: Ints, dtype: DType, index: int) -> Batched:
        if not shape:  # the number of an operand
            return Batched(self.new_below((), dtype, index), False)
        return Batched(self.new_below((self.rows(), *shape), dtype, index), True)

    def held(self, a: Batched) -> tuple[Tensor, ...]:
        return (a.inner,)

    def detached(self, a: Batched) -> Batched:
        return Batched(cut_off(a.inner), a.batched)

    def shown(self, a: Batched) -> str:
        dim = 0 if a.batched else None
        return f"BatchedTensor(lvl={self.depth}, bdim={dim}, value=\n{a.inner!r}\n)"

    def takes(self, a: Batched, source: Batched) -> bool:
        return a.batched >= source.batched and super().takes(a, source)

    def refuse_read(self, a: Batched, how: str) -> None:
        if a.batched:
            raise refuse_values("vmap", f"{how} of a tensor", _MASKS)

    def copy_out(self, a: Batched) -> np.ndarray[Any, Any]:
        if a.batched:
            raise refuse_values("vmap", "the value of a tensor", _MASKS)
        return a.inner._kind.backend.copy_out(a.inner._a)

    def view(self, a: Batched, shape: Ints, strides: Ints, offset: int) -> Batched:
        x = a.inner
        own = tuple(x._kind.backend.geometry(x._a, x._a)[0])
        if a.batched:
            shape, strides = (x._a.shape[0], *shape), (own[0], *strides)
        taken = as_strided(x, shape, strides, offset, own)
        return Batched(taken, a.batched)

    def sliced(self, a: Batched, index: Any) -> Batched:
        if not a.batched:
            return Batched(a.inner[index], False)
        entries = index if type(index) is tuple else (index,)
        return Batched(a.inner[(slice(None), *entries)], True)

    def geometry(self, a: Batched, root: Batched) -> tuple[Ints, int]:
        x, whole = a.inner, root.inner
        strides, offset = x._kind.backend.geometry(x._a, whole._a)
        return tuple(strides[a.batched :]), offset

    def fill(self, a: Batched, value: complex) -> None:
        a.inner.fill_(value)

    def copy(self, target: Batched, source: Batched) -> None:
        if source.batched and not target.batched:
            raise refuse_one_for_all()
        target.inner.copy_(aligned(source, len(target.shape)))


class Batch(Level):
    """One call of a vmapped function.

    Attributes:
        rows: the size of the batch.
        randomness: what random functions may do: "error", "same" or "different".
    """

    name = "vmap"
    backend: ClassVar[type[LevelBackend]] = BatchBackend

    def __init__(self, rows: int, randomness: str) -> None:
        self.rows = rows
        self.randomness = randomness

    def draws(self, name: str) -> int:
        if self.randomness == "error":
            raise AutogradError(
                "vmap", "randomness", was=f'"error", and {name} draws random numbers',
                needed='"same", which gives all rows one draw, or "different"',
                remedy='call vmap(..., randomness="different")',
            )  # fmt: skip
        return self.rows if self.randomness == "different" else 0


__all__ = ["Batch", "BatchBackend"]
