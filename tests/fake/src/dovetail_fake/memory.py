"""Memory of an imaginary device: blocks of bytes, and arrays that look into them."""

from __future__ import annotations

import math
import threading
from typing import Any, Final, NoReturn

import numpy as np

from dovetail.dtypes import DType

Ints = tuple[int, ...]
POISON: Final = b"\xcb"  # fresh memory holds no zeros, as on real hardware


class Device:
    """One device: hands out blocks of memory and counts them."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.live_bytes = 0
        self.peak_bytes = 0
        self._lock = threading.RLock()  # a block may die anywhere, in any thread

    def count(self, size: int) -> None:
        with self._lock:
            self.live_bytes += size
            self.peak_bytes = max(self.peak_bytes, self.live_bytes)


class Block:
    """Bytes on a device, given back when the last array that looks into them dies."""

    def __init__(self, device: Device, size: int) -> None:
        self.device = device
        self.size = 0  # for `__del__`, should there be no memory
        self.data = bytearray(POISON * size)
        self.size = size
        device.count(size)

    def __del__(self) -> None:
        self.device.count(-self.size)


def row_major(shape: Ints) -> Ints:
    """Element strides of a contiguous array."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def _refused(*_: Any, **__: Any) -> NoReturn:
    raise TypeError("the memory of a fake device cannot be read like an array")


class FakeArray:
    """The native array: to everybody but this package it is a shape.

    Attributes:
        shape: sizes of the dims; all that dovetail asks of a native array.
        block, dtype, strides, offset: where the elements are, counted in elements.
    """

    __slots__ = ("block", "dtype", "offset", "shape", "strides")

    def __init__(
        self, block: Block, dtype: DType, shape: Ints, strides: Ints, offset: int
    ) -> None:
        self.block = block
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.offset = offset

    @classmethod
    def empty(cls, device: Device, dtype: DType, shape: Ints) -> FakeArray:
        """A contiguous array in memory of its own, with unspecified contents."""
        block = Block(device, math.prod(shape) * dtype.itemsize)
        return cls(block, dtype, shape, row_major(shape), 0)

    def elements(self) -> np.ndarray[Any, Any]:
        """The elements, for this package's kernels; fails outside the memory."""
        size = self.dtype.itemsize
        steps = tuple(s * size for s in self.strides)
        start = self.offset * size
        return np.ndarray(self.shape, self.dtype.numpy, self.block.data, start, steps)

    __array__ = __array_ufunc__ = __array_function__ = _refused
    __iter__ = __len__ = __getitem__ = __setitem__ = __bool__ = __eq__ = _refused
    __hash__ = object.__hash__
