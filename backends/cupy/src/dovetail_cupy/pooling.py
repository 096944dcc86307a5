"""Pooling by maxima on a device: a launch, and two backward."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from dovetail.codegen.pool_forms import greatest, send_back
from dovetail.codegen.window_forms import Axes
from dovetail.device_api import Facts, KernelTable
from dovetail.dtypes import FLOAT, int32
from dovetail.xp.windows import Windows
from dovetail_cupy.launch import Forms, Machine, steps

_MOST_TAPS: Final = 64  # that are written out
_TOO_MANY: Final = 1 << 31  # elements


def install(table: KernelTable, machine: Machine) -> None:
    """Put them before those of a table."""
    pools = Pools(machine)
    for op, bind in (
        ("max_pool", pools.greatest), ("max_pool_slots", pools.slots),
        ("max_pool_backward", pools.backward),
    ):  # fmt: skip
        table.add(
            op, bind, dtypes=FLOAT, binds=True, rank=1, when=_is_short,
            reads=("kernel_size", "shape"),
        )  # fmt: skip


def _is_short(facts: Facts) -> bool:
    """Whether a window has few taps, and 32 bits count the elements."""
    few = math.prod(facts.kernel_size) <= _MOST_TAPS
    return few and all(math.prod(s) < _TOO_MANY for s in facts.shape)


class Pools:
    """The kernels of pooling, by dtype and by the taps of windows."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._forms = Forms(machine)

    def greatest(self, **choices: Any) -> Callable[[Any], Any]:
        """The greatest element of each window."""
        return lambda x: self._found(x, _windows(choices), False)

    def slots(self, **choices: Any) -> Callable[[Any], Any]:
        """Which tap of each window that is."""
        return lambda x: self._found(x, _windows(choices), True)

    def backward(self, **choices: Any) -> Callable[[Any, Any], Any]:
        """What windows send back, added up where their greatest elements are."""
        windows = _windows(choices)

        def call(dy: Any, x: Any) -> Any:
            slots = self._found(x, windows, True)
            made = self._machine.empty(x.shape, x.dtype)
            dy = self._machine.in_rows(dy)
            words = _axes(x, windows).words(steps(made)[2:])
            form = send_back, x.dtype.name, x.ndim - 2
            self._forms.run(form, [dy, slots, made], [*words, x.shape[1]], made.size)
            return made

        return call

    def _found(self, x: Any, windows: Windows, slots: bool) -> Any:
        axes, strides = _axes(x, windows), steps(x)
        dtype = int32.numpy if slots else x.dtype
        made = self._machine.empty((*x.shape[:2], *axes.places), dtype)
        words = [*strides[:2], *axes.words(strides[2:])]
        form = greatest, x.dtype.name, tuple(windows.kernel), slots
        self._forms.run(form, [x, made], [*words, x.shape[1]], made.size)
        return made


def _windows(choices: dict[str, Any]) -> Windows:
    names = "kernel_size", "stride", "padding", "dilation", "ceil_mode"
    return Windows(*[choices[name] for name in names])


def _axes(x: Any, windows: Windows) -> Axes:
    return Axes(x.shape[2:], windows.places(x.shape[2:]), *windows[:4])
