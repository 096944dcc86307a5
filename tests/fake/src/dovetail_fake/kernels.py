"""The primitives of level 0 and nothing else, computed by NumPy on lent memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, bool_, by_name, float32, int32, int64, uint8
from dovetail_fake.memory import Device, FakeArray

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

BOOL: Final = frozenset({bool_})
INTS: Final = frozenset({uint8, int32, int64})
FLOATS: Final = frozenset({float32})
NUMERIC: Final = INTS | FLOATS
BITS: Final = BOOL | INTS
ALL: Final = BOOL | NUMERIC


def install(table: KernelTable, devices: Sequence[Device]) -> None:
    """Add every kernel to the table."""
    for op, (function, dtypes) in KERNELS.items():
        table.add(op, partial(_on_device, function), dtypes=dtypes)
    for op, (function, dtypes) in SCATTERS.items():
        table.add(op, partial(_in_place, function), dtypes=dtypes)
    table.add("iota", partial(_iota, devices), dtypes=ALL)


def _on_device(function: Function, *arrays: FakeArray, **attrs: Any) -> FakeArray:
    """Compute, and move the result to fresh memory on the device of the inputs."""
    device = _device_of(arrays)
    result = np.asarray(function(*(a.elements() for a in arrays), **attrs))
    fresh = FakeArray.empty(device, by_name(result.dtype.name), result.shape)
    fresh.elements()[...] = result
    return fresh


def _in_place(function: Function, *arrays: FakeArray, **attrs: Any) -> None:
    _device_of(arrays)
    function(*(a.elements() for a in arrays), **attrs)


def _device_of(arrays: Sequence[FakeArray]) -> Device:
    """The device of all arrays; core has seen to it that they share one."""
    (device,) = {a.block.device for a in arrays}
    return device


def _iota(devices: Sequence[Device], n: int, dtype: DType, index: int) -> FakeArray:
    fresh = FakeArray.empty(devices[index], int32, (n,))
    fresh.elements()[...] = np.arange(n, dtype=np.int32)
    return fresh


# NumPy computes with a dtype that two operands share; where it would choose another
# one (sums of integers), or a kernel needs more than one ufunc, there is a function.


def cast(a: Array, dtype: DType) -> Array:
    return a.astype(dtype.numpy)


def bitcast(a: Array, dtype: DType) -> Array:
    return np.ascontiguousarray(a).view(dtype.numpy).reshape(a.shape)


def idiv(a: Array, b: Array) -> Array:
    """NumPy's quotient is floored: one more where it is negative and inexact."""
    floored = np.floor_divide(a, b)
    inexact = (floored * b != a) & (floored < 0) & (b != 0)
    quotient: Array = floored + inexact.astype(floored.dtype)
    return quotient


def shift_right(a: Array, b: Array) -> Array:
    """The same bits without a sign, so that zeros come in."""
    unsigned = f"u{a.dtype.itemsize}"
    shifted: Array = np.right_shift(a.view(unsigned), b.astype(unsigned))
    return shifted.view(a.dtype)


def sum_(a: Array, dim: tuple[int, ...], keepdim: bool, dtype: DType | None) -> Any:
    result = dtype.numpy if dtype else "i8" if a.dtype.kind in "biu" else a.dtype
    return np.sum(a, axis=dim, keepdims=keepdim, dtype=result)


def amax(a: Array, dim: tuple[int, ...], keepdim: bool) -> Any:
    return np.max(a, axis=dim, keepdims=keepdim)


def take_along(a: Array, index: Array, dim: int) -> Array:
    return np.take_along_axis(a, index, dim)


def scatter_set(a: Array, index: Array, src: Array, dim: int) -> None:
    np.put_along_axis(a, index, src, dim)


def scatter_add(a: Array, index: Array, src: Array, dim: int) -> None:
    places = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    places[dim] = index
    np.add.at(a, tuple(places), src)


KERNELS: Final[dict[str, tuple[Function, frozenset[DType]]]] = {
    "cast": (cast, ALL), "bitcast": (bitcast, ALL), "where": (np.where, ALL),
    "take_along": (take_along, ALL),
    "add": (np.add, NUMERIC), "sub": (np.subtract, NUMERIC),
    "mul": (np.multiply, NUMERIC), "div": (np.divide, FLOATS), "idiv": (idiv, INTS),
    "float_fmod": (np.fmod, FLOATS), "sqrt": (np.sqrt, FLOATS),
    "floor": (np.floor, FLOATS), "maximum": (np.maximum, NUMERIC), "lt": (np.less, ALL),
    "eq": (np.equal, ALL),
    "bitwise_and": (np.bitwise_and, BITS), "bitwise_xor": (np.bitwise_xor, BITS),
    "shift_left": (np.left_shift, INTS), "shift_right": (shift_right, INTS),
    "exp": (np.exp, FLOATS), "log": (np.log, FLOATS), "sin": (np.sin, FLOATS),
    "cos": (np.cos, FLOATS), "float_pow": (np.power, FLOATS),
    "sum": (sum_, ALL), "amax": (amax, ALL), "bmm": (np.matmul, FLOATS),
}  # fmt: skip
SCATTERS: Final[dict[str, tuple[Function, frozenset[DType]]]] = {
    "scatter_set_": (scatter_set, ALL),
    "scatter_add_": (scatter_add, NUMERIC),
}
