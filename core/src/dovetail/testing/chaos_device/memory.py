"""Memory of the chaos device: poisoned when fresh, between guards, counted."""

from __future__ import annotations

import math
import threading
import weakref
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.device_api.contract import Backend, Ints
from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import DType
from dovetail.errors import DovetailError, KernelError

if TYPE_CHECKING:
    from dovetail.testing.chaos_device.work import Job

_GUARD_BYTES: Final = 64  # on each side; a multiple keeps the alignment of the memory
_SMALL: Final = 1024  # elements that are quicker copied than looked around
_ODD: Final = {1: 0x5B, 2: 0x5A5B, 4: 0x5A5A5A5B, 8: 0x5A5A5A5A5A5A5A5B}


def poison(dtype: DType, count: int) -> np.ndarray[Any, Any]:
    """What fresh memory holds: NaN, large odd numbers, or alternating bools."""
    if dtype.is_complex:
        return np.full(count, complex(math.nan, math.nan), dtype.numpy)
    if dtype.is_inexact:
        return np.full(count, math.nan, dtype.numpy)
    if dtype.category == 0:
        return np.resize([True, False], count)
    return np.full(count, _ODD[dtype.itemsize], dtype.numpy)


def guard(dtype: DType) -> np.ndarray[Any, Any]:
    """What lies beside memory: poison too, with other bits where NaN leaves them."""
    made = poison(dtype, max(1, _GUARD_BYTES // dtype.itemsize))
    if dtype.is_inexact and dtype.itemsize > 1:
        raw = made.view(np.uint8)
        raw[:: dtype.itemsize] ^= 0x25  # of a NaN's payload
    return made


class Cell:
    """A stretch of the inner device's memory, and the work that is due on it.

    Attributes:
        body: the inner array over the elements; `whole` has the guards too.
        owner: the op that allocated it; `last` the one that used it last.
        writer, readers: jobs to be waited for.
        wrote: stream, tick and op of the last write; `read_by` the reads since,
            by stream.
        failure: why its contents never came to be, else None.
    """

    __slots__ = (
        "__weakref__", "_inner", "_sides", "body", "dtype", "failure", "index", "last",
        "read_by", "readers", "shape", "size", "whole", "writer", "wrote",
    )  # fmt: skip

    def __init__(
        self, inner: Backend, shape: Ints, dtype: DType, index: int, op: str,
        poisoned: bool, guarded: bool,
    ) -> None:  # fmt: skip
        self._inner = inner
        self.shape, self.dtype, self.index = shape, dtype, index
        self.size = math.prod(shape)
        self.last = op
        self.writer: Job | None = None
        self.readers: list[Job] = []
        self.wrote: tuple[int, int, str] | None = None
        self.read_by: dict[int, tuple[int, str]] = {}
        self.failure: DovetailError | None = None
        self._sides = guard(dtype) if guarded else np.empty(0, dtype.numpy)
        self.whole = self._fresh(poisoned)
        start = len(self._sides) if self.size else 0
        strides = contiguous_strides(shape)
        self.body = inner.view(self.whole, shape, strides, start)

    def _fresh(self, poisoned: bool) -> Any:
        sides = self._sides
        if not poisoned and not len(sides):
            return self._inner.empty((self.size,), self.dtype, self.index)
        middle = (poison if poisoned else np.zeros)(
            *((self.dtype, self.size) if poisoned else (self.size, self.dtype.numpy))
        )
        return self._inner.copy_in(np.concatenate([sides, middle, sides]), self.index)

    def check(self) -> None:
        """Raise where a guard was written.

        Raises:
            KernelError: names the op that used the memory last.
        """
        sides = self._sides
        if not len(sides):
            return
        for name, found in zip(("before", "behind"), self._beside(), strict=True):
            if found.tobytes() != sides.tobytes():
                self._sides = sides[:0]  # once is enough
                raise KernelError(
                    self.last, "kernel", was=f"writing {name} its {self.dtype.name} "
                    f"array of shape {self.shape}",
                    needed="writes within its arguments only",
                )  # fmt: skip

    def _beside(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """What is in the guards now."""
        inner, count = self._inner, len(self._sides)
        if self.size <= _SMALL:
            found = inner.copy_out(self.whole)
            return found[:count], found[count + self.size :]
        starts = 0, count + self.size
        low, high = (inner.view(self.whole, (count,), (1,), at) for at in starts)
        return inner.copy_out(low), inner.copy_out(high)

    def holds(self, array: Any, op: str) -> None:
        """Raise where a view reaches outside of the elements."""
        shape = tuple(array.shape)
        if not all(shape):
            return
        strides, start = self._inner.geometry(array, self.body)
        reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        low = start + sum(r for r in reach if r < 0)
        high = start + sum(r for r in reach if r > 0)
        if low < 0 or high >= self.size:
            raise KernelError(
                op, "view", was=f"from element {low} to {high}",
                needed=f"within the {self.size} elements of the memory",
            )  # fmt: skip


class Meter:
    """Counts the bytes of one device that are in use."""

    def __init__(self) -> None:
        self.live = 0
        self.peak = 0
        self._lock = threading.RLock()  # memory may die anywhere, in any thread

    def count(self, size: int) -> None:
        """Add bytes, or take some off."""
        with self._lock:
            self.live += size
            self.peak = max(self.peak, self.live)


class Owner:
    """What the arrays over one cell share: the memory is free when it dies.

    Work that is still due keeps the cell, not the owner: on a real device, too,
    memory is the program's to use again before the work that needed it is done.
    """

    __slots__ = ("__weakref__", "cell")

    def __init__(self, cell: Cell, meter: Meter) -> None:
        self.cell = cell
        size = cell.size * cell.dtype.itemsize
        meter.count(size)
        # Not at exit: nobody asks any more, and the interpreter is half gone.
        weakref.finalize(self, meter.count, -size).atexit = False


class ChaosArray:
    """The native array: to everybody but this package it is a shape.

    Attributes:
        shape: sizes of the dims.
        inner: the wrapped device's array.
        owner: keeps the memory.
    """

    __slots__ = ("inner", "owner", "shape")

    def __init__(self, owner: Owner, inner: Any) -> None:
        self.owner = owner
        self.inner = inner
        self.shape: Ints = tuple(inner.shape)

    @property
    def cell(self) -> Cell:
        return self.owner.cell
