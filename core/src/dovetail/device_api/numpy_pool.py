"""Counts of the memory of NumPy arrays, which cost nothing until one is asked for.

NumPy can tell of each allocation only code that is written in C, so what is counted are
the arrays that pass between core and the device: results of kernels, fresh memory, and
memory that others lend. Temporaries within a kernel are not seen. The first question
finds what tensors hold already; from then on each call of a kernel is looked at.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

import numpy as np

from dovetail.device_api.capabilities import Pool, arrays_in_use
from dovetail.device_api.numpy_arrays import NumpyArrays, owner_of
from dovetail.dtypes import Array
from dovetail.errors import ArgumentError, OutOfMemory

_MAKES: Final = ("empty", "copy_in")
_LENDS: Final = ("adopt", "dlpack_import")  # the memory is another's, and no limit's


class _Memory(weakref.ref[Array]):
    """The owner of some memory, by a reference that does not keep it alive."""

    __slots__ = ("at", "size")
    at: int
    size: int


class Meter:
    """Bytes of memory in use: each memory is counted once, until it is freed.

    Attributes:
        limit: the most bytes that may be in use; None for no limit.
    """

    def __init__(self, device: str) -> None:
        self.limit: int | None = None
        self._device = device
        self._known: dict[int, _Memory] = {}
        self._live = self._peak = self._made = self._count = self._refused = 0
        # Memory may die anywhere, in the middle of a count too: it waits here.
        self._dead: deque[int] = deque()
        self._lock = threading.RLock()

    def add(self, a: Array, limited: bool = True) -> None:
        """Count the memory behind an array, unless it is counted already.

        Raises:
            OutOfMemory: it would be more than the limit; it is not counted then.
        """
        owner = owner_of(a)
        if id(owner) in self._known or not owner.nbytes:
            return
        size = owner.nbytes
        with self._lock:
            self._settle()
            if limited and self.limit is not None and self._live + size > self.limit:
                self._refused += 1
                raise OutOfMemory(
                    self._device, "memory", was=f"{self._live:,} bytes in use and "
                    f"{size:,} more", needed=f"at most {self.limit:,}, the limit set",
                    remedy="free tensors, or raise the limit",
                )  # fmt: skip
            memory = _Memory(owner, self._freed)
            memory.at, memory.size = id(owner), size
            self._known[memory.at] = memory
            self._live += size
            self._made += size
            self._count += 1
            self._peak = max(self._peak, self._live)

    def _freed(self, memory: _Memory) -> None:
        self._known.pop(memory.at, None)
        self._dead.append(memory.size)

    def _settle(self) -> None:
        """Take off what has died."""
        while self._dead:
            self._live -= self._dead.popleft()

    def live(self) -> int:
        """Bytes in use."""
        with self._lock:
            self._settle()
            return self._live

    def peak(self) -> int:
        """The most bytes in use at once, since the start or `reset_peak`."""
        return max(self._peak, self.live())

    def reset_peak(self) -> None:
        """Let the peak be what is in use now."""
        with self._lock:
            self._peak = self.live()

    def counts(self) -> dict[str, int]:
        """What was counted, by torch's names."""
        with self._lock:
            live, blocks = self.live(), len(self._known)
            return {
                "allocated_bytes.all.current": live,
                "allocated_bytes.all.peak": self._peak,
                "allocated_bytes.all.allocated": self._made,
                "allocated_bytes.all.freed": self._made - live,
                "allocation.all.current": blocks,
                "allocation.all.allocated": self._count,
                "allocation.all.freed": self._count - blocks,
                "num_ooms": self._refused,
            }

    def result(self, result: Any) -> Any:
        """What a kernel returned, counted; NumPy's scalars become the arrays of it."""
        if type(result) is np.ndarray:
            self.add(result)
        elif isinstance(result, np.generic):
            result = np.asarray(result)
            self.add(result)
        elif isinstance(result, tuple | list):
            return [self.result(part) for part in result]
        return result


class NumpyPool(NumpyArrays, Pool):
    """A backend of NumPy arrays that counts their memory, once it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self._meter: Meter | None = None
        self._starts = threading.Lock()

    def live_bytes(self, index: int) -> int:
        return self._counting().live()

    def peak_bytes(self, index: int) -> int:
        return self._counting().peak()

    def reset_peak(self, index: int) -> None:
        self._counting().reset_peak()

    def counts(self, index: int) -> Mapping[str, int]:
        return self._counting().counts()

    def set_limit(self, index: int, size: int | None) -> None:
        if size is not None and size < 0:
            raise ArgumentError(
                self.type, "limit", was=size, needed="a number of bytes, from 0 on"
            )
        self._counting().limit = size

    def runner(self, index: int) -> Callable[..., Any]:
        run, meter = super().runner(index), self._meter
        if meter is None:
            return run
        result = meter.result

        def counted(kernel: Any, /, *natives: Any, **attrs: Any) -> Any:
            return result(run(kernel, *natives, **attrs))

        return counted

    def _counting(self) -> Meter:
        """The meter, which begins at the first call with what tensors hold."""
        found = self._meter
        if found is not None:
            return found
        with self._starts:
            if self._meter is None:
                meter = Meter(self.type)
                for name in (*_MAKES, *_LENDS):
                    self._watch(meter, name)
                self._meter = meter
                self.renew_runners()
                for find in arrays_in_use:
                    for a in find(self):
                        meter.add(a)
            return self._meter

    def _watch(self, meter: Meter, name: str) -> None:
        """Count what a function of this backend gives from now on."""
        function = getattr(self, name, None)
        if function is None:
            return

        @wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            made = function(*args, **kwargs)
            meter.add(getattr(made, "native", made), limited=name in _MAKES)
            return made

        setattr(self, name, watched)  # of this object: others' calls stay as they are


__all__ = ["Meter", "NumpyPool"]
