"""Programs of elementary steps on a device's arrays, lying in any way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.codegen.layout import ONE, RUN, layout_of
from dovetail.codegen.pointwise_form import PointwiseForm
from dovetail.codegen.program import Program
from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import by_name
from dovetail.xp.orders import order_of
from dovetail_cupy.launch import Launch, Machine, steps

_REMEMBERED: Final = 64  # ways in which operands lie


class DevicePointwise(PointwiseForm):
    """A program of one result, with its kernels by the layout of operands.

    The results lie as the operands do.

    Args:
        machine: what runs the kernels; for the others see `PointwiseForm`.
        in_rows: results lie in rows, however operands do.
    """

    def __init__(
        self, machine: Machine, name: str, program: Program, scalars: int,
        stored: Sequence[str | None], result: str, in_rows: bool = False,
    ) -> None:  # fmt: skip
        self._machine = machine
        self._in_rows = in_rows
        self._launchers: dict[Any, Launch] = {}
        super().__init__(name, program, scalars, stored, result)
        self.form((RUN,) * len(self.given), rows=False)  # refuses what is unknown
        self._ones = (1,) * len(self.given)
        self._kinds = [by_name(d).numpy for d in self.dtypes]
        self._flat: list[Launch | None] = [None, None]  # as `apart` says
        self._ways: dict[Any, _Way] = {}

    def kernel(
        self, kinds: tuple[str, ...], rows: bool, apart: bool = False,
        blocks: bool = False,
    ) -> Any:  # fmt: skip
        """What runs the kernel for operands that lie so.

        Args:
            apart: the result shares memory with none of them.
        """
        key = kinds, rows, apart, blocks
        if key not in self._launchers:
            form = self.form(kinds, rows, blocks)
            self._launchers[key] = self._machine.launcher(form, apart)
        return self._launchers[key]

    def __call__(
        self, *operands: Any, scalars: Sequence[Any] = (), out: Any = None
    ) -> Any:
        """The result, for operands whose shapes may differ.

        Args:
            out: what it is written to, an array that `takes` was asked of.

        Raises:
            ValueError: they do not broadcast.
        """
        given = [a for a in operands if a is not None]
        shape = given[0].shape
        for a in given:
            if a.shape != shape or not a.flags.c_contiguous:
                return self._of_any_layout(given, scalars, out)
        y = self._machine.empty(shape, self.dtype) if out is None else out
        size = y.size
        if size:
            apart = out is None
            run = self._flat[apart]
            if run is None:
                run = self.kernel((RUN,) * len(given), False, apart)
                self._flat[apart] = run
            run([*given, y], [*self._ones, *scalars], size)
        return y

    def of_rows(self, arrays: Sequence[Any]) -> Any:
        """The result for arrays of its dtypes, of one shape in rows or of one number.

        It is for programs whose operands are all there, and no numbers of a call; None
        for arrays of others.
        """
        shape, alike = arrays[0].shape or arrays[-1].shape, True
        for a, kind in zip(arrays, self._kinds, strict=True):
            if a.dtype is not kind:
                return None
            if a.shape != shape or not a.flags.c_contiguous:
                if a.shape:
                    return None
                alike = False
        y = self._machine.empty(shape, self.dtype)
        count = y.size
        if count:
            run = self._flat[True] if alike else None
            if run is None:
                kinds = tuple([RUN if alike or a.shape else ONE for a in arrays])
                run = self.kernel(kinds, False, True)
                if alike:
                    self._flat[True] = run
            run([*arrays, y], self._ones, count)
        return y

    def takes(self, out: Any, operands: Sequence[Any]) -> bool:
        """Whether a result may be written there while operands are read.

        It may where it is an operand itself, or shares memory with none.
        """
        if out.dtype != self.dtype or not out.flags.c_contiguous:
            return False
        for a in operands:
            if a is None or a is out or a.data.mem is not out.data.mem:
                continue
            same = a.data.ptr == out.data.ptr and a.shape == out.shape
            if not same or a.strides != out.strides:
                return False
        return True

    def _of_any_layout(self, given: list[Any], scalars: Sequence[Any], out: Any) -> Any:
        """In rows where operands lie so; what lies in no simple way is copied."""
        key = out is None, *[(a.shape, a.strides) for a in given]
        way = self._ways.get(key)
        if way is None:
            if len(self._ways) >= _REMEMBERED:
                self._ways.clear()
            way = self._ways[key] = self._way(given, out is None)
        y = self._machine.empty(way.lying, self.dtype) if out is None else out
        if y.shape != way.lying:
            raise ValueError(f"a result of shape {way.lying} for one of {y.shape}")
        if way.count:
            if way.copies:
                given = [self._copied(a, way) for a in given]
            way.run([*given, y], [*way.numbers, *scalars], way.count)
        return y if way.back is None else y.transpose(way.back)

    def _way(self, given: list[Any], apart: bool) -> _Way:
        """How operands are walked that lie so.

        Args:
            apart: the result is made for this call, and may lie as they do.
        """
        shape = np.broadcast_shapes(*[a.shape for a in given])
        spread = [self._machine.xp.broadcast_to(a, shape) for a in given]
        order = None
        if apart and not self._in_rows:
            order = order_of(shape, [a.strides for a in spread])
        back = None
        if order is not None and order != tuple(range(len(shape))):
            back = tuple(map(int, np.argsort(order)))
            spread = [a.transpose(order) for a in spread]
            shape = spread[0].shape
        if not math.prod(shape):
            return _Way(shape, back, None, False, (), 0, None)
        layout = layout_of(shape, [steps(a) for a in spread], blocks=True)
        copies = layout is None
        if layout is None:
            layout = layout_of(shape, [contiguous_strides(shape)] * len(given))
            assert layout is not None
        by_rows = layout.rows > 1
        count = layout.rows if by_rows else layout.lanes
        run = self.kernel(layout.kinds, by_rows, apart, bool(layout.inner))
        return _Way(
            shape, back, order if back else None, copies, layout.words, count, run
        )

    def _copied(self, a: Any, way: _Way) -> Any:
        """An operand in row-major order, as large as the result."""
        xp, shape = self._machine.xp, way.lying
        if way.back is not None:
            shape = tuple([shape[d] for d in way.back])
        wide = xp.broadcast_to(a, shape)
        return xp.ascontiguousarray(
            wide if way.order is None else wide.transpose(way.order)
        )


class _Way(NamedTuple):
    """What is the same in all calls with operands that lie so.

    Attributes:
        lying: the shape of the result in the order in which its dims lie.
        back: where these dims go; None as they are.
        order: which dims these are.
        copies: whether the kernel gets row-major copies of operands.
        numbers: what the kernel gets before the call's own.
        count: of items.
        run: the kernel, where there is any element.
    """

    lying: tuple[int, ...]
    back: tuple[int, ...] | None
    order: tuple[int, ...] | None
    copies: bool
    numbers: tuple[int, ...]
    count: int
    run: Any
