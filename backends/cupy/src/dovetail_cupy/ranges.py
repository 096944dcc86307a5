"""Checks of indices on a device: one launch, where there are no more than a few."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.codegen.range_forms import any_outside
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, int32, int64
from dovetail_cupy.launch import Forms, Machine

_MANY: Final = 1 << 16  # indices, for which one block of threads is too few


def install(table: KernelTable, machine: Machine) -> None:
    """Add them to a table."""
    for dtype in (int32, int64):
        table.add(
            "any_outside", Ranges(machine, dtype), dtypes=[dtype],
            when=lambda facts: 0 < math.prod(facts.shape[0]) <= _MANY, reads=("shape",),
        )  # fmt: skip


class Ranges:
    """The kernels of one dtype."""

    def __init__(self, machine: Machine, dtype: DType) -> None:
        self._machine = machine
        self._dtype = dtype
        self._forms = Forms(machine)

    def __call__(self, a: Any, *, low: int, end: int, spared: tuple[int, ...]) -> Any:
        """Whether some index is out of range."""
        made = self._machine.empty((), "bool")
        form = any_outside, self._dtype.name, len(spared)
        given = [self._machine.in_rows(a), made]
        self._forms.run(form, given, [low, end, *spared, a.size], 1)
        return made
