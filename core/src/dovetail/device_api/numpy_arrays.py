"""Memory and views of NumPy arrays, for backends that compute with NumPy."""

from __future__ import annotations

import math
from typing import Any, Final, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dovetail.device_api.contract import Backend, Ints, Runner
from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import STORED, Array, DType, from_numpy
from dovetail.errors import ArgumentError, KernelError, OutOfMemory, ShapeError
from dovetail.float8 import convert, is_packed

DIMS: Final = 64
"""What NumPy's arrays have at most."""
_EVERYWHERE: Final = (
    0,
    1,
)  # numbers that all formats have, so that nothing is warned of


class NumpyArrays(Backend):
    """All of a backend but its devices and kernels; native arrays are NumPy's."""

    array = np.ndarray
    dtypes = STORED

    def __init__(self) -> None:
        super().__init__()
        # NumPy's floating point warnings are not torch's; the caller's own error
        # state stays as it is, for kernels run in this context.
        self.context.run(np.seterr, all="ignore")
        self._quiet = Runner(self, 0)

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        try:
            return np.empty(shape, dtype.numpy)
        except (MemoryError, ValueError, OverflowError) as error:
            raise _no_room(self.type, shape, dtype) from error

    def copy_in(self, host: Array, index: int) -> Array:
        return np.array(host, order="C")

    def copy_out(self, a: Array) -> Array:
        return np.array(a, order="C")

    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        if offset:
            a = _shifted(a, offset)
        if len(shape) > DIMS:
            raise _too_many_dims(shape)
        steps = tuple(s * a.itemsize for s in strides)
        try:
            return strided(a, shape, steps)
        except (OverflowError, ValueError) as error:
            raise ArgumentError(
                "view", "shape", was=shape, needed="sizes that a memory can have"
            ) from error

    def geometry(self, a: Array, root: Array) -> tuple[Ints, int]:
        size = a.itemsize
        offset = 0
        if a is not root:
            offset = (a.ctypes.data - root.ctypes.data) // size
        if not a.size:  # of no elements, NumPy counts no bytes
            return contiguous_strides(a.shape), offset
        strides = tuple([s // size for s in a.strides])
        return (_told(a.shape, strides) if 0 in strides else strides), offset

    def is_contiguous(self, a: Array) -> bool:
        return a.flags.c_contiguous

    def fill(self, a: Array, value: complex) -> None:
        if is_packed(a):
            number = np.asarray(value, np.float32)
            a[...] = self._apart(convert, np, number, from_numpy(a.dtype))
        elif value in _EVERYWHERE:
            a.fill(value)
        else:
            self._apart(np.ndarray.fill, a, value)

    def copy(self, target: Array, source: Array) -> None:
        copy_bits(target, source)

    def protect(self, a: Array) -> None:
        a.setflags(write=False)

    def synchronize(self, index: int) -> None:
        """Nothing: NumPy has finished when it returns."""

    def lift(self, result: Any) -> Array:
        """NumPy turns 0-d results into scalars; make them arrays again."""
        if isinstance(result, np.generic):
            return np.asarray(result)
        found: Array = super().lift(result)
        return found

    def _apart(self, function: Any, *args: Any) -> Any:
        """Run a function where NumPy's warnings are off."""
        run = self._quiet.here()
        try:
            return run(function, *args)
        except RuntimeError as error:
            if not str(error).startswith("cannot enter context"):
                raise
            return self._quiet.renewed()(function, *args)


def _too_many_dims(shape: Ints) -> ShapeError:
    return ShapeError(
        "tensor", "shape", was=f"of {len(shape)} dims", needed=f"at most {DIMS}"
    )


def _no_room(device: str, shape: Ints, dtype: DType) -> ShapeError | OutOfMemory:
    if len(shape) > DIMS:
        return _too_many_dims(shape)
    size = math.prod(shape) * dtype.itemsize
    return OutOfMemory(
        device, "memory", was=f"not enough for {size:,} bytes, of shape {shape}",
        needed="that much in one piece",
    )  # fmt: skip


def _told(shape: Ints, strides: Ints) -> Ints:
    """Strides as PyTorch has them where NumPy inserted a dim, for which it has 0."""
    found, ahead = list(strides), 1
    for d in reversed(range(len(shape))):
        if shape[d] == 1 and not found[d]:
            found[d] = ahead
        ahead = shape[d] * found[d]
    return tuple(found)


def strided(a: Array, shape: Ints, steps: Ints) -> Array:
    """The memory from the first element of `a` on, in steps of bytes."""
    if is_packed(a):  # NumPy looks for these formats among its own
        return as_strided(a.view(np.uint8), shape, steps, subok=False).view(a.dtype)
    if a.flags.c_contiguous and a.dtype.kind != "V":  # whose memory is a buffer
        try:
            return np.ndarray(shape, a.dtype, a, 0, steps)  # a tenth of the time
        except ValueError:  # reaches beyond what is of `a` alone
            pass
    return as_strided(a, shape, steps, subok=False)


def copy_bits(target: Array, source: Array) -> None:
    """Copy, also between rows of one memory, where NumPy looks at the start alone.

    Of one-dimensional arrays it chooses a direction by their first elements, which is
    right only for equal strides.
    """
    rows = target.ndim == 1 and target.strides != source.strides
    if rows and np.may_share_memory(target, source):
        source = source.copy()
    np.copyto(target, source)


def owner_of(a: Array) -> Array:
    """The array that has the memory of `a`, which may be itself."""
    owner, base = a, cast(Any, a)
    while base is not None:  # as_strided puts an object of its own in between
        owner = base if isinstance(base, np.ndarray) else owner
        base = getattr(base, "base", None)
    return owner


def _shifted(a: Array, offset: int) -> Array:
    """A one-element array `offset` elements after the first of `a`."""
    owner = owner_of(a)
    start = a.ctypes.data - owner.ctypes.data + offset * a.itemsize
    if start < 0:
        raise KernelError(
            "view", "offset", was=offset, needed="a place within the memory"
        )
    if not owner.flags.c_contiguous:
        steps = abs(offset)
        return strided(a, (steps + 1,), (a.itemsize * offset // steps,))[steps:]
    flat = owner.reshape(-1).view(np.uint8)
    if start >= flat.size:
        return np.empty((0,), a.dtype)
    return flat[start : start + a.itemsize].view(a.dtype)
