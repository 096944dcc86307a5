"""Backends whose native arrays are always contiguous: core's strided arrays on them.

A view is a buffer with an affine map. A kernel's inputs are gathered from it by
`take_along`, writes go back by `scatter_set_`, and both are counted.
"""

from __future__ import annotations

import builtins
import math
import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar, Final

import numpy as np

from dovetail import dtypes
from dovetail.device_api.capabilities import ViewCopies
from dovetail.device_api.contract import Backend, Ints
from dovetail.device_api.dense_kernels import Adapted, Buffer, DenseArray, DenseTable
from dovetail.dtypes import DType
from dovetail.errors import KernelError, NotSupported

Dense = Any
Function = Callable[..., Any]

_CACHED_PLACES: Final = 1 << 22  # elements of all indices kept


class DenseBackend(Backend, ViewCopies):
    """A device type without strided arrays: gathers before kernels, scatters after.

    Supply `devices`, `synchronize`, the five `dense_*` methods and `kernels`. A *dense
    array* is an object of the class `dense` and has a `shape`; it may be immutable.
    Kernels get and return dense arrays, however they come into the table, and nothing
    else differs from other backends. `take_along`, `scatter_set_` (on one dim, with
    int32 indices) and `cast` are needed in every dtype.

    An op whose name ends in an underscore writes: those of the vocabulary the arguments
    in `WRITES`, any other the positions given as `table.add(..., writes=(0, ...))`.
    Such a kernel writes its arguments and returns None, or returns new values for
    them (a tuple if there are several), and is never given a view's memory itself.
    """

    array = DenseArray
    dense: ClassVar[builtins.type[Any]]
    """The class of dense arrays; kernels return instances of exactly it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = DenseTable(self)
        self.gathers = 0
        """Views copied out of their buffers, for kernels to read."""
        self.scatters = 0
        """Views written back into their buffers."""
        self._lock = threading.Lock()
        self._places: OrderedDict[Any, tuple[Dense, int]] = OrderedDict()
        self._held = 0

    @abstractmethod
    def dense_in(self, host: np.ndarray[Any, Any], index: int) -> Dense:
        """A fresh dense array with the values of `host`, never read after returning."""

    @abstractmethod
    def dense_out(self, a: Dense) -> np.ndarray[Any, Any]:
        """A fresh NumPy array with the values of `a`; waits for them."""

    @abstractmethod
    def dense_reshape(self, a: Dense, shape: Ints) -> Dense:
        """The elements of `a` in another shape: the same memory or a copy."""

    @abstractmethod
    def dense_full(
        self, shape: Ints, value: complex, dtype: DType, index: int
    ) -> Dense:
        """A fresh dense array of one Python number."""

    @abstractmethod
    def dense_dtype(self, a: Dense) -> DType:
        """The dtype of `a`."""

    # ---- what Backend asks for

    def empty(self, shape: Ints, dtype: DType, index: int) -> DenseArray:
        buffer = Buffer(None, math.prod(shape), index, dtype)
        return DenseArray.over(buffer, shape)

    def copy_in(self, host: np.ndarray[Any, Any], index: int) -> DenseArray:
        values = self.dense_in(np.asarray(host, order="C"), index)
        return self.adopt(values, index)

    def copy_out(self, a: DenseArray) -> np.ndarray[Any, Any]:
        return self.dense_out(self.read(a))

    def view(
        self, a: DenseArray, shape: Ints, strides: Ints, offset: int
    ) -> DenseArray:
        start = a.offset + offset
        if all(shape):
            reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
            low = start + sum(r for r in reach if r < 0)
            high = start + sum(r for r in reach if r > 0)
            if low < 0 or high >= a.buffer.size:
                raise KernelError(
                    "view", "place", was=f"{low} to {high}",
                    needed=f"within the {a.buffer.size} elements of the memory",
                )  # fmt: skip
        return DenseArray(a.buffer, shape, strides, start)

    def geometry(self, a: DenseArray, root: DenseArray) -> tuple[Ints, int]:
        return a.strides, a.offset - root.offset

    def fill(self, a: DenseArray, value: complex) -> None:
        dtype, index = self._dtype(a.buffer), a.buffer.index
        self.write(a, self.dense_full(a.shape, value, dtype, index))

    def copy(self, target: DenseArray, source: DenseArray) -> None:
        shared = target.whole or target.buffer is source.buffer
        self.write(target, self.snapshot(source) if shared else self.read(source))

    def lift(self, result: Any) -> Dense:
        """The dense array for what a kernel returned instead of one."""
        raise KernelError(
            self.type, "a kernel's result", was=f"a {type(result).__name__}",
            needed=f"a {self.dense.__name__}", remedy="return a fresh dense array",
        )  # fmt: skip

    def view_copies(self) -> tuple[int, int]:
        return self.gathers, self.scatters

    # ---- between views and dense arrays

    def adopt(self, values: Any, index: int) -> DenseArray:
        """A native array over a dense one, which nobody else uses."""
        values = self._checked(values)
        shape = tuple(values.shape)
        buffer = Buffer(values, math.prod(shape), index, None)
        return DenseArray.over(buffer, shape)

    def read(self, a: DenseArray) -> Dense:
        """The elements of `a` as a dense array: those of the buffer, or gathered."""
        buffer, shape = a.buffer, a.shape
        if a.whole:
            return self._shaped(buffer, shape)
        if not all(shape):
            return self.dense_full(shape, 0, self._dtype(buffer), buffer.index)
        flat, places = self._shaped(buffer, (buffer.size,)), self._index(a)
        with self._lock:
            self.gathers += 1
        found = self._primitive("take_along", buffer)(flat, places, dim=0)
        return self.dense_reshape(self._checked(found), shape)

    def snapshot(self, a: DenseArray) -> Dense:
        """The elements of `a` in a dense array that nobody else uses."""
        values = self.read(a)
        if not a.whole:
            return values
        copied = self._primitive("cast", a.buffer)(values, dtype=self._dtype(a.buffer))
        return self._checked(copied)

    def write(self, a: DenseArray, values: Dense) -> None:
        """Put `values`, which nobody else uses, where `a` looks."""
        buffer = a.buffer
        if a.whole:
            buffer.values = self._checked(values)
            return
        if not all(a.shape):
            return
        flat, places = self._shaped(buffer, (buffer.size,)), self._index(a)
        with self._lock:
            self.scatters += 1
        source = self.dense_reshape(values, (math.prod(a.shape),))
        new = self._primitive("scatter_set_", buffer)(flat, places, source, dim=0)
        buffer.values = flat if new is None else self._checked(new)

    def _shaped(self, buffer: Buffer, shape: Ints) -> Dense:
        """The buffer's own values in a shape, which they then keep."""
        values = buffer.values
        if values is None:
            values = self.dense_full(shape, 0, self._dtype(buffer), buffer.index)
            buffer.values = values
        elif tuple(values.shape) != shape:
            values = buffer.values = self.dense_reshape(values, shape)
        return values

    def _checked(self, result: Any) -> Dense:
        return result if type(result) is self.dense else self.lift(result)

    def _dtype(self, buffer: Buffer) -> DType:
        found = buffer.dtype
        if found is None:
            found = buffer.dtype = self.dense_dtype(buffer.values)
        return found

    def _index(self, a: DenseArray) -> Dense:
        """The places of a view on its device, made once while they are remembered."""
        key = (a.buffer.index, a.shape, a.strides, a.offset, a.buffer.size)
        with self._lock:
            found = self._places.get(key)
            if found is not None:
                self._places.move_to_end(key)
                return found[0]
        places = a.places().astype(self._index_dtype(a.buffer.size).numpy)
        made = self.dense_in(places, a.buffer.index)
        with self._lock:
            if places.size <= _CACHED_PLACES and key not in self._places:
                self._places[key] = (made, places.size)
                self._held += places.size
            while self._held > _CACHED_PLACES:
                self._held -= self._places.popitem(last=False)[1][1]
        return made

    def _index_dtype(self, size: int) -> DType:
        if size <= 1 << 31:
            return dtypes.int32
        if dtypes.int64 not in self.dtypes:
            raise NotSupported(
                "view", "memory", was=f"of {size} elements", needed="at most 2**31 "
                f"on {self.type}, which has no int64", remedy="use smaller tensors",
            )  # fmt: skip
        return dtypes.int64

    def _primitive(self, op: str, buffer: Buffer) -> Function:
        """The author's kernel of a primitive, on dense arrays."""
        dtype = self._dtype(buffer)
        for kernel in self.table.select(op, dtype):
            if kernel.when is None and isinstance(kernel.function, Adapted):
                return kernel.function.on_dense
        raise KernelError(
            self.type, "views", was=f"without a kernel of {op} for {dtype.name}",
            needed="take_along, scatter_set_ and cast in every dtype",
            remedy=f"add one, without a condition, in {type(self).__name__}.kernels",
        )  # fmt: skip
