"""`broken`: the CPU backend with one kernel at fault, in a way of one's choice."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from dovetail.device_api import KernelTable, registry
from dovetail.device_api.kernels import Kernel
from dovetail_cpu.backend import CpuBackend

Function = Callable[..., Any]
Fault = Callable[..., Any]


def sound(kernel: Function, *args: Any, **attrs: Any) -> Any:
    """Nothing wrong."""
    return kernel(*args, **attrs)


def scaled(kernel: Function, *args: Any, **attrs: Any) -> Any:
    """The result, off by 1e-4 of its value, or 10 % in a 16-bit format."""
    return _scaled(kernel(*args, **attrs))


def _scaled(y: Any) -> Any:
    if isinstance(y, tuple):
        return tuple(map(_scaled, y))
    if y.dtype == np.bool_:
        return y
    return y * y.dtype.type(1.0001 if y.dtype.itemsize > 2 else 1.1)


def no_gate(kernel: Function, ct: Any, *args: Any, **attrs: Any) -> Any:
    """The cotangent itself, as if every element had passed."""
    return ct.copy()


def lost_nan(kernel: Function, *args: Any, **attrs: Any) -> Any:
    """The result with zeros where it is NaN."""
    return np.nan_to_num(kernel(*args, **attrs))


def half_step(kernel: Function, p: Any, *args: Any, **attrs: Any) -> Any:
    """An optimizer that goes half the way."""
    arrays = p if isinstance(p, list) else [p]
    before = [a.copy() for a in arrays]
    kernel(p, *args, **attrs)
    for a, old in zip(arrays, before, strict=True):
        a[...] = (old + a) / 2


def writes_input(kernel: Function, x: Any, *args: Any, **attrs: Any) -> Any:
    """The right result, and an input that it has no right to change."""
    y = kernel(x, *args, **attrs).copy()
    x[...] = 0
    return y


def last_kept(kernel: Function, x: Any, *args: Any, **attrs: Any) -> Any:
    """A write that leaves the last element as it was."""
    arrays = x if isinstance(x, list) else [x]
    flat = [a.reshape(-1) for a in arrays if a.flags.c_contiguous and a.size]
    before = [a[-1] for a in flat]
    kernel(x, *args, **attrs)
    for a, old in zip(flat, before, strict=True):
        a[-1] = old


def off_by_one(kernel: Function, *args: Any, **attrs: Any) -> Any:
    """The index after the right one."""
    return kernel(*args, **attrs) + 1


def fails(kernel: Function, *args: Any, **attrs: Any) -> Any:
    """A kernel that gives up."""
    raise ValueError("unsupported configuration 7")


def only_strided(kernel: Function, x: Any, *args: Any, **attrs: Any) -> Any:
    """Right where memory is contiguous, else the elements in memory order."""
    if not x.flags.c_contiguous:
        x = np.asarray(x).ravel(order="K").reshape(x.shape)
    return kernel(x, *args, **attrs)


def sequential(kernel: Function, x: Any, w: Any, b: Any, **attrs: Any) -> Any:
    """No fault: a product whose terms are added one after the other."""
    y = np.zeros((*x.shape[:-1], w.shape[0]), x.dtype)
    for k in range(x.shape[-1]):
        y += x[..., k, None] * w[:, k]
    return y if b is None else y + b


def tf32(kernel: Function, x: Any, w: Any, b: Any, **attrs: Any) -> Any:
    """A product of float32 with 13 bits cut off, as TF32 has it."""

    def cut(a: Any) -> Any:
        return (np.ascontiguousarray(a).view(np.int32) & ~0x1FFF).view(np.float32)

    return kernel(cut(x), cut(w), b, **attrs)


FAULTS: Final[dict[str, Fault]] = {
    f.__name__: f
    for f in (sound, scaled, no_gate, lost_nan, half_step, writes_input, last_kept,
              off_by_one, fails, only_strided, sequential, tf32)
}  # fmt: skip
_OPTIONS: Final = ("binds", "broadcasts", "checks", "contiguous", "when", "reads")


class BrokenBackend(CpuBackend):
    """The CPU backend, but for the kernels of one op.

    Args:
        op: the op at fault.
        fault: the name of what is wrong with it.
    """

    type = "broken"
    automatic = False

    def __init__(self, op: str, fault: str) -> None:
        super().__init__()
        self.op = op
        self.fault = FAULTS[fault]

    def kernels(self, table: KernelTable) -> None:
        """The CPU's kernels, those of the op spoilt."""
        full = KernelTable("broken")
        super().kernels(full)
        for op, kernels in full._kernels.items():
            for kernel in kernels:
                function = kernel.function
                if op == self.op:
                    function = self._spoilt(kernel)
                options = {name: getattr(kernel, name) for name in _OPTIONS}
                table.add(op, function, dtypes=kernel.dtypes, **options)

    def _spoilt(self, kernel: Kernel) -> Function:
        if not kernel.binds:
            return functools.partial(self.fault, kernel.function)
        made = kernel.function
        return lambda **attrs: functools.partial(self.fault, made(**attrs))


def install(op: str, fault: str) -> None:
    """Make the device type `broken` known to this process."""
    registry.register(BrokenBackend(op, fault))


@contextmanager
def broken(op: str, fault: str) -> Iterator[str]:
    """The device `broken` for a while."""
    install(op, fault)
    try:
        yield "broken"
    finally:
        registry.unregister("broken")
