"""Backends with one planted fault each, for laws to catch."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dovetail import dtypes
from dovetail.conformance import laws  # noqa: F401
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.judge import judge
from dovetail.conformance.reference import ReferenceBackend, install
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check, Verdict
from dovetail.device_api import DeviceInfo, KernelTable, Pool, registry
from dovetail.dtypes import DType
from dovetail.engine.host import get_fallback_policy, set_fallback_policy
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]


def verdict(
    cls: type[Any], law: str, dtype: str = "float32", budget: str = "quick"
) -> Verdict:
    """The verdict of a law on a backend, made and forgotten."""
    with device(cls) as name:
        return verdict_on(name, law, dtype, budget)


def verdict_on(
    name: str, law: str, dtype: str = "float32", budget: str = "quick"
) -> Verdict:
    """The verdict of a law on a device."""
    before = get_fallback_policy()
    set_fallback_policy("error")
    try:
        check = Check("device", dtype, law)
        return judge(Subject(name), check, BUDGETS[budget])
    finally:
        set_fallback_policy(before)


@contextmanager
def device(cls: type[Any]) -> Iterator[str]:
    """A backend of the type `planted` while the block runs."""
    install()
    own = type(cls.__name__, (cls,), {"type": "planted"})
    registry.register(own())
    try:
        yield "planted"
    finally:
        registry.unregister("planted")


class Sound(ReferenceBackend):
    """No fault at all."""


# ---- transport


class ReadsLater(Sound):
    def copy_in(self, host: Array, index: int) -> Array:
        return np.asarray(host, order="C")


class GivesItsOwn(Sound):
    def copy_out(self, a: Array) -> Array:
        return np.asarray(a, order="C")


class Canonical(Sound):
    """Every NaN becomes the usual one."""

    def copy_in(self, host: Array, index: int) -> Array:
        made = np.array(host, order="C")
        if made.dtype.kind == "f":
            made[np.isnan(made)] = np.nan
        return made


class LosesTail(Sound):
    def copy_out(self, a: Array) -> Array:
        made = np.array(a, order="C")
        if made.ndim == 1 and made.size % 32 == 1 and made.size > 1:
            made[-1] = made[-2]
        return made


class OneBuffer(Sound):
    """Fresh memory of a size is always the same."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[Any, Array] = {}

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        return self.known.setdefault((shape, dtype), np.empty(shape, dtype.numpy))


class Fortran(Sound):
    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        return np.empty(shape, dtype.numpy, order="F")


# ---- views


class NoOffset(Sound):
    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        return super().view(a, shape, strides, 0)


class Forwards(Sound):
    """Negative strides are read as positive ones."""

    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        each = zip(shape, strides, strict=True)
        low = sum((n - 1) * s for n, s in each if s < 0) if all(shape) else 0
        return super().view(a, shape, tuple(map(abs, strides)), offset + low)


class Copies(Sound):
    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        return np.array(super().view(a, shape, strides, offset))


class Contiguous(Sound):
    def geometry(self, a: Array, root: Array) -> tuple[Ints, int]:
        _, offset = super().geometry(a, root)
        return tuple(
            s // a.itemsize for s in np.empty_like(a, order="C").strides
        ), offset


class Recycles(Sound):
    """Memory is used again once the array it was made for is gone, views or not."""

    def __init__(self) -> None:
        super().__init__()
        self.free: dict[Any, list[Array]] = {}

    def copy_in(self, host: Array, index: int) -> Array:
        free = self.free.setdefault((host.shape, host.dtype), [])
        block = free.pop() if free else np.empty(host.shape, host.dtype)
        block[...] = host
        made = as_strided(block)
        weakref.finalize(made, free.append, block)
        return made

    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        whole = a
        while isinstance(getattr(whole, "base", None), np.ndarray):
            whole = whole.base  # type: ignore[assignment]
        owner = getattr(whole.base, "base", None)
        start = a.ctypes.data - (owner.ctypes.data if owner is not None else 0)
        if owner is None:
            return super().view(a, shape, strides, offset)
        first = start // a.itemsize + offset
        return as_strided(
            owner.reshape(-1)[first:], shape, tuple(s * a.itemsize for s in strides)
        )


# ---- writes


class NoSnapshot(Sound):
    """Element by element, also where source and target overlap."""

    def copy(self, target: Array, source: Array) -> None:
        for at in np.ndindex(target.shape):
            target[at] = source[at]


class WritesBeside(Sound):
    def copy(self, target: Array, source: Array) -> None:
        np.copyto(target, source.copy())
        if target.ndim == 1 and target.size > 1 and target.strides[0] > target.itemsize:
            as_strided(target, (target.size * 2 - 1,), (target.strides[0] // 2,))[
                1::2
            ] = 0


class FillsContiguous(Sound):
    """The elements behind the first, whatever the strides."""

    def fill(self, a: Array, value: complex) -> None:
        if a.ndim and a.size and min(a.strides) > 0 and not a.flags.c_contiguous:
            a[..., 0] = value
            return
        super().fill(a, value)


class NoNegativeZero(Sound):
    def fill(self, a: Array, value: complex) -> None:
        super().fill(a, value + 0 if a.dtype.kind in "fc" else value)


# ---- devices


class NoInt32(Sound):
    dtypes = frozenset({dtypes.bool_, dtypes.float32})


class Nameless(Sound):
    def devices(self) -> Sequence[DeviceInfo]:
        return (DeviceInfo(0, " "),)


class Twice(Sound):
    def devices(self) -> Sequence[DeviceInfo]:
        return (DeviceInfo(0, "one"), DeviceInfo(0, "one"))


class Answers(Sound):
    def synchronize(self, index: int) -> None:
        return "done"  # type: ignore[return-value]


# ---- kernels


def with_kernel(op: str, wrong: Callable[..., Any]) -> type[Sound]:
    """A backend whose kernel of a primitive goes through `wrong(kernel, *args)`."""

    class Planted(Sound):
        def kernels(self, table: KernelTable) -> None:
            super().kernels(table)
            found = table._kernels[op]
            for at, kernel in enumerate(found):
                bad = _through(wrong, kernel.function)
                found[at] = kernel._replace(function=bad)

    return Planted


def _through(wrong: Callable[..., Any], sound: Callable[..., Any]) -> Any:
    return lambda *args, **attrs: wrong(sound, *args, **attrs)


_kept: list[Any] = []
_scratch: list[Any] = [None]
_calls = [0]


def keeps(sound: Any, *args: Any, **attrs: Any) -> Any:
    """A leak: every result stays alive."""
    _kept.append(sound(*args, **attrs))
    return _kept[-1]


def shares(sound: Any, *args: Any, **attrs: Any) -> Any:
    """One scratch buffer for all threads."""
    _scratch[0] = sound(*args, **attrs)
    time.sleep(1e-4)
    return _scratch[0]


def drifts(sound: Any, *args: Any, **attrs: Any) -> Any:
    """Results that depend on how many there were before."""
    _calls[0] += 1
    return sound(*args, **attrs) * (1 + _calls[0] / 4096)


def flushes(sound: Any, *args: Any, **attrs: Any) -> Any:
    """Subnormal results become 0."""
    y = sound(*args, **attrs)
    if getattr(y, "dtype", None) == np.float32:
        return np.where(np.abs(y) < np.finfo(np.float32).smallest_normal, 0, y).astype(
            np.float32
        )
    return y


def short_tail(sound: Any, *args: Any, **attrs: Any) -> Any:
    """The last number beyond 2^8 repeats the one before it."""
    y = sound(*args, **attrs)
    if getattr(y, "size", 0) > 256:
        y.reshape(-1)[-1] = y.reshape(-1)[-2]
    return y


# ---- pools


class Counted(Sound, Pool):
    """Counts by the bytes of the arrays that it hands out."""

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = 0

    def _count(self, made: Array) -> Array:
        self.add(made.nbytes)
        weakref.finalize(made, self.add, -made.nbytes).atexit = False
        return made

    def add(self, size: int) -> None:
        self.live += size
        self.peak = max(self.peak, self.live)

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        return self._count(super().empty(shape, dtype, index))

    def live_bytes(self, index: int) -> int:
        return self.live

    def peak_bytes(self, index: int) -> int:
        return self.peak


class NeverFrees(Counted):
    def add(self, size: int) -> None:
        super().add(max(size, 0))


class ForgetsThePeak(Counted):
    def peak_bytes(self, index: int) -> int:
        return self.live // 2


# ---- DLPack


class CopiesOnImport(CpuBackend):
    def dlpack_import(self, source: Any, index: int, *, copy: bool | None) -> Any:
        found = super().dlpack_import(source, index, copy=copy)
        return type(found)(found.native.copy(), found.dtype, found.readonly)


class CopiesOnExport(CpuBackend):
    def dlpack_export(self, native: Array, **options: Any) -> Any:
        return super().dlpack_export(native.copy(), **options)


def by_address(sound: Any, a: Array, b: Array) -> Any:
    """The second operand is read in the order of its memory."""
    return sound(a, b.reshape(-1, order="A").reshape(b.shape))
