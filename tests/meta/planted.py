"""Backends with one planted fault each, for laws to catch.

More are in the catalogue of mutants, which `device` takes as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import isabstract
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
from dovetail.device_api import KernelTable, registry
from dovetail.device_api.numpy_pool import NumpyPool
from dovetail.engine.host import get_fallback_policy, set_fallback_policy
from dovetail.errors import OutOfMemory

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
    """A backend of the type `planted` while the block runs.

    A fault alone is put into a backend with level-0 kernels.
    """
    install()
    bases = (cls, Sound) if isabstract(cls) else (cls,)
    own = type(cls.__name__, bases, {"type": "planted"})
    registry.register(own())
    try:
        yield "planted"
    finally:
        registry.unregister("planted")


class Sound(ReferenceBackend):
    """No fault at all."""


# ---- transport


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


class SeesFirstSign(Sound):
    """What runs backwards in its last dim alone is read forwards."""

    def copy_in(self, host: Array, index: int) -> Array:
        if host.ndim > 1 and host.strides[-1] < 0 < host.strides[0]:
            host = host[..., ::-1]
        return np.array(host, order="C")


# ---- views


class Contiguous(Sound):
    def geometry(self, a: Array, root: Array) -> tuple[Ints, int]:
        _, offset = super().geometry(a, root)
        return tuple(
            s // a.itemsize for s in np.empty_like(a, order="C").strides
        ), offset


# ---- writes


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


# ---- kernels


def with_kernel(op: str, wrong: Callable[..., Any]) -> type[Sound]:
    """A backend whose kernel of a primitive goes through `wrong(kernel, *args)`."""

    class Planted(Sound):
        def kernels(self, table: KernelTable) -> None:
            super().kernels(table)
            found = table._kernels[op]
            for at, kernel in enumerate(found):
                through = _through_bound if kernel.binds else _through
                bad = through(wrong, kernel.function)
                found[at] = kernel._replace(function=bad)

    return Planted


def _through(wrong: Callable[..., Any], sound: Callable[..., Any]) -> Any:
    return lambda *args, **attrs: wrong(sound, *args, **attrs)


def _through_bound(wrong: Callable[..., Any], bind: Callable[..., Any]) -> Any:
    return lambda **attrs: _through(wrong, bind(**attrs))


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


class Counted(Sound, NumpyPool):
    """Counts the memory that it hands out."""


class NeverFrees(Counted):
    def live_bytes(self, index: int) -> int:
        return self.counts(index)["allocated_bytes.all.allocated"]


class ForgetsThePeak(Counted):
    def peak_bytes(self, index: int) -> int:
        return self.live_bytes(index) // 2


class CountsNoResults(Counted):
    def runner(self, index: int) -> Any:
        return Sound.runner(Sound(), index)


class KeepsThePeak(Counted):
    def reset_peak(self, index: int) -> None:
        """Nothing."""


class PeakFromZero(Counted):
    """The peak begins anew at nothing, whatever is in use."""

    _begin = 0

    def reset_peak(self, index: int) -> None:
        super().reset_peak(index)
        self._begin = self.live_bytes(index)

    def peak_bytes(self, index: int) -> int:
        return super().peak_bytes(index) - self._begin


class LimitsThePeak(Counted):
    """What was freed still counts against a limit."""

    _until: int | None = None
    _gone = 0

    def set_limit(self, index: int, size: int | None) -> None:
        super().set_limit(index, size)
        self._until = size
        self._gone = self.counts(index)["allocated_bytes.all.freed"]

    def empty(self, shape: Ints, dtype: dtypes.DType, index: int) -> Array:
        counts = self.counts(index)
        size = dtype.itemsize * int(np.prod(shape))
        freed = counts["allocated_bytes.all.freed"] - self._gone
        used = counts["allocated_bytes.all.current"] + freed
        if self._until is not None and used + size > self._until:
            raise OutOfMemory("planted", "memory", was=f"{used}", needed="less")
        return super().empty(shape, dtype, index)


class KeepsWhatIsStrided(Counted):
    """What came from memory with gaps stays for good."""

    def copy_in(self, host: Array, index: int) -> Array:
        made = super().copy_in(host, index)
        if not host.flags.c_contiguous:
            _kept.append(made)
        return made


class KnowsNoLimit(Counted):
    def set_limit(self, index: int, size: int | None) -> None:
        """Nothing."""


# ---- DLPack


def by_address(sound: Any, a: Array, b: Array) -> Any:
    """The second operand is read in the order of its memory."""
    return sound(a, b.reshape(-1, order="A").reshape(b.shape))
