"""Programs of elementary steps on a device's arrays, lying in any way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.codegen.layout import RUN, layout_of
from dovetail.codegen.pointwise_form import PointwiseForm
from dovetail.codegen.program import Program
from dovetail_cupy.launch import Launch, Machine


class DevicePointwise(PointwiseForm):
    """A program of one result, with its kernels by the layout of operands.

    The results are row-major.

    Args:
        machine: what runs the kernels; for the others see `PointwiseForm`.
    """

    def __init__(
        self, machine: Machine, name: str, program: Program, scalars: int,
        stored: Sequence[str | None], result: str,
    ) -> None:  # fmt: skip
        self._machine = machine
        self._launchers: dict[Any, Launch] = {}
        super().__init__(name, program, scalars, stored, result)
        self.form((RUN,) * len(self.given), rows=False)  # refuses what is unknown

    def kernel(self, kinds: tuple[str, ...], rows: bool) -> Any:
        """What runs the kernel for operands that lie so."""
        key = kinds, rows
        if key not in self._launchers:
            self._launchers[key] = self._machine.launcher(self.form(kinds, rows))
        return self._launchers[key]

    def __call__(self, *operands: Any, scalars: Sequence[Any] = ()) -> Any:
        """The result, for operands whose shapes may differ.

        Raises:
            ValueError: they do not broadcast.
        """
        given = [a for a in operands if a is not None]
        shape = given[0].shape
        if all(a.shape == shape and a.flags.c_contiguous for a in given):
            y = self._machine.xp.empty(shape, self.dtype)
            if y.size:
                steps = (1,) * len(given)
                run = self.kernel((RUN,) * len(given), rows=False)
                run([*given, y], [*steps, *scalars], y.size)
            return y
        return self._of_any_layout(given, scalars)

    def _of_any_layout(self, given: list[Any], scalars: Sequence[Any]) -> Any:
        """In rows where operands lie so; what lies in no simple way is copied."""
        xp = self._machine.xp
        shape = np.broadcast_shapes(*[a.shape for a in given])
        y = xp.empty(shape, self.dtype)
        if not y.size:
            return y
        spread = [xp.broadcast_to(a, shape) for a in given]
        layout = layout_of(shape, [_steps(a) for a in spread])
        if layout is None:
            spread = [xp.ascontiguousarray(a) for a in spread]
            layout = layout_of(shape, [_steps(a) for a in spread])
            assert layout is not None
        by_rows = layout.rows > 1
        numbers = [*layout.lane_steps]
        if by_rows:
            numbers += [layout.lanes, *layout.row_steps]
        run = self.kernel(layout.kinds, by_rows)
        count = layout.rows if by_rows else layout.lanes
        run([*spread, y], [*numbers, *scalars], count)
        return y


def _steps(a: Any) -> tuple[int, ...]:
    """Strides in elements."""
    return tuple([s // a.itemsize for s in a.strides])
