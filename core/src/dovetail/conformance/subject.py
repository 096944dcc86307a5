"""The device under test, and how values get there and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.layouts import laid_out, layouts_for
from dovetail.conformance.verdicts import How
from dovetail.device_api import registry
from dovetail.dtypes import Array, DType, from_numpy, int64
from dovetail.engine.cases import Case
from dovetail.engine.kinds import Kind, kind_on
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor, wrap


class Subject:
    """A device under test.

    Args:
        device: its device string.
    """

    def __init__(self, device: str) -> None:
        self.backend, self.index = registry.resolve(device)
        self.device = str(kind_on(self.backend, self.index, _any(self.backend)).device)

    def kind(self, dtype: DType) -> Kind:
        """The kind of a dtype on this device."""
        return kind_on(self.backend, self.index, dtype)

    def claims(self, dtype: DType) -> bool:
        """Whether the device claims to hold a dtype."""
        return dtype in self.backend.dtypes

    def how(self, op: Op, dtype: DType) -> How:
        """What runs an op whose leading input has that dtype."""
        if self.backend.table.select(op.name, dtype):
            return How.NATIVE
        return How.HOST if dtype in op.primitive else How.COMPOSED

    def native(self, a: Array, layout: str = "contiguous") -> Any:
        """A native array of these values in that layout."""
        a = self.held(a)
        return laid_out(self.backend, self.index, a, from_numpy(a.dtype), layout)

    def tensor(self, a: Array, layout: str = "contiguous") -> Tensor:
        """A tensor of these values in that layout."""
        a = self.held(a)
        return wrap(self.native(a, layout), self.kind(from_numpy(a.dtype)))

    def held(self, a: Array) -> Array:
        """Indices as 32-bit numbers where the device has no others."""
        return a if a.dtype != np.int64 or self.claims(int64) else a.astype(np.int32)

    def argument(self, value: Any, layouts: Sequence[str]) -> Any:
        """A case's argument as an op takes it: arrays as tensors.

        Args:
            layouts: of an array; of a list, one for each member.
        """
        if isinstance(value, np.ndarray):
            return self.tensor(value, layouts[0])
        if isinstance(value, list) and any(isinstance(v, np.ndarray) for v in value):
            each = zip(value, layouts, strict=True)
            return [self.argument(v, [layout]) for v, layout in each]
        return value

    def arguments(
        self, op: Op, example: Example, dtype: DType
    ) -> tuple[list[Any], dict[str, Any]]:
        """Arguments of a call; creation ops get their kind."""
        case = example.case
        assert case is not None
        lies = example.layout
        args = [
            self.argument(a, layouts_for(op, p.name, a, lies))
            for a, p in zip(case.args, op.params, strict=False)
        ]
        kwargs = {
            k: self.argument(v, layouts_for(op, k, v, lies))
            for k, v in case.kwargs.items()
        }
        if needs_kind(op, case):
            kwargs.setdefault("kind", self.kind(dtype))
        return args, kwargs

    def call(self, op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Tensor]:
        """The results of a call; what an op that writes wrote comes first."""
        result = op.function(*args, **kwargs)
        found = list(result) if isinstance(result, tuple | list) else [result]
        if op.mutates:
            bound = dict(zip(op.names, op.bind(args, kwargs), strict=True))
            found = written(op, bound) + found
        return [y for y in found if y is not None]

    def run(self, op: Op, example: Example, dtype: DType) -> list[Tensor]:
        """The results of an example's call."""
        return self.call(op, *self.arguments(op, example, dtype))

    def values(self, y: Tensor) -> Array:
        """The values of a tensor, in NumPy."""
        return y._kind.backend.copy_out(y._a)


def written(op: Op, bound: dict[str, Any]) -> list[Tensor]:
    """The tensors that a call wrote, those of lists one by one."""
    lists = [bound[n] if isinstance(bound[n], list) else [bound[n]] for n in op.mutates]
    return [x for part in lists for x in part if x is not None]


def needs_kind(op: Op, case: Case) -> bool:
    """Whether a call must be told on which device and in which dtype to create."""
    return "kind" in op.names and len(case.args) + len(case.kwargs) < len(op.names)


def _any(backend: Any) -> DType:
    found: DType = min(backend.dtypes, key=lambda d: d.name)
    return found
