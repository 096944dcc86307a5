"""A module that computes with NumPy and refuses what CuPy refuses.

Its names are CuPy's. Arrays never mix with NumPy's, ufuncs have no methods but those
that CuPy's have, and whatever the host has to wait for is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dovetail_strict import cards, names
from dovetail_strict.array import (
    StrictArray,
    index_of,
    lift,
    lower,
    place_of_extreme,
    refuse_axis_of_number,
)
from dovetail_strict.waits import wait

_FOLDING: Final = {"add", "multiply"}
_AT: Final = {
    "add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor",
}  # fmt: skip
_AT_DTYPES: Final = {
    "int32", "int64", "uint32", "uint64", "float16", "float32", "float64",
}  # fmt: skip
_WAITING: Final = {"nonzero", "flatnonzero", "argwhere", "unique", "array_equal"}
# Whatever the dtype is.
_CARRYING: Final = {"ascontiguousarray", "broadcast_to", "may_share_memory"}
_TAKES_HOST: Final = {
    "array", "asarray", "ascontiguousarray", "full", "arange", "where",
}  # fmt: skip


class Ufunc:
    """One of NumPy's ufuncs with the methods that CuPy's has."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._ufunc = cards.OTHERWISE.get(name, getattr(np, name))
        self.nin = getattr(np, name).nin

    def __call__(self, *args: Any, **options: Any) -> Any:
        if "where" in options:
            raise TypeError("wrong keyword argument 'where'")
        out = options.pop("out", None)
        if len(args) > self.nin:
            *inputs, out = args
            args = tuple(inputs)
        if out is None:
            return lift(self._ufunc(*map(lower, args), **options))
        out = out[0] if isinstance(out, tuple) else out
        if type(out) is not StrictArray:
            raise TypeError("Output arguments type must be cupy.ndarray")
        self._ufunc(*map(lower, args), **options, out=out.numpy)
        return out

    def reduce(
        self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
        keepdims: bool = False,
    ) -> Any:  # fmt: skip
        """Sums and products alone."""
        self._has("reduce", _FOLDING)
        refuse_axis_of_number(array, axis)
        made = self._ufunc.reduce(lower(array), axis, dtype, lower(out), keepdims)
        return lift(made) if out is None else out

    def accumulate(
        self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        """Running sums and products alone."""
        self._has("accumulate", _FOLDING)
        return lift(self._ufunc.accumulate(lower(array), axis, dtype, lower(out)))

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """What atomics can do, in the dtypes that have them."""
        self._has("at", _AT)
        if str(a.dtype) not in _AT_DTYPES:
            raise TypeError(f"cupy.{self.__name__}.at only supports {_AT_DTYPES}")
        self._ufunc.at(a.numpy, index_of(a.numpy, indices), lower(b))

    def _has(self, method: str, able: set[str]) -> None:
        if self.__name__ not in able:
            name = f"{self.__name__}.{method}"
            raise NotImplementedError(f"`{name}` is not supported yet")


class Part:
    """A module of the library, with the functions that CuPy has there."""

    def __init__(
        self, module: Any, functions: frozenset[str], aligned: bool = False
    ) -> None:
        self.LinAlgError = np.linalg.LinAlgError
        for name in functions:
            setattr(self, name, _unraised(getattr(module, name), aligned))


def _unraised(function: Callable[..., Any], aligned: bool) -> Callable[..., Any]:
    """A function that says nothing of what it could not solve, unless asked to.

    Args:
        aligned: it reads its argument two numbers at a time.
    """

    def call(*args: Any, **options: Any) -> Any:
        a = args[0]
        if aligned and a.size and a.data.ptr % (2 * a.dtype.itemsize):
            raise TypeError("CUFFT_INVALID_VALUE")
        given = {k: lower(v) for k, v in options.items()}
        try:
            return lift(function(*map(lower, args), **given))
        except np.linalg.LinAlgError:
            return StrictArray(np.full(np.shape(lower(args[-1])), np.nan))

    return call


class Grid:
    """`ogrid` with arrays of ours."""

    def __getitem__(self, key: Any) -> Any:
        return lift(list(np.ogrid[key]))


class Library:
    """The module that is passed as `xp`."""

    __name__ = "strict"
    ndarray = StrictArray

    def __init__(self) -> None:
        def strided(a: StrictArray, shape: Any, strides: Any) -> Any:
            return lift(as_strided(a.numpy, shape, strides))

        self.lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=strided))
        self.ogrid = Grid()
        self.fft = Part(np.fft, names.FFT, aligned=True)
        self.linalg = Part(np.linalg, names.LINALG)

    def __getattr__(self, name: str) -> Any:
        if name not in names.MODULE:
            raise AttributeError(f"module 'cupy' has no attribute {name!r}")
        found: Any = Ufunc(name) if name in names.UFUNCS else getattr(np, name)
        if name not in names.UFUNCS and callable(found) and not isinstance(found, type):
            found = _function(name, found)
        setattr(self, name, found)
        return found

    def max(
        self, a: Any, axis: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """No `initial`."""
        return lift(np.max(lower(a), axis, lower(out), keepdims))

    def min(
        self, a: Any, axis: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """No `initial`."""
        return lift(np.min(lower(a), axis, lower(out), keepdims))

    def count_nonzero(self, a: Any, axis: Any = None) -> Any:
        """No dims that stay."""
        return lift(np.count_nonzero(lower(a), axis))

    def matmul(self, a: Any, b: Any, /, *, out: Any = None) -> Any:
        """Unlike every other ufunc's, its `out` has no place."""
        if out is None:
            return lift(np.matmul(lower(a), lower(b)))
        np.matmul(lower(a), lower(b), lower(out))
        return out

    def argmax(self, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        """Any place of several NaNs."""
        return lift(place_of_extreme("argmax", lower(a), axis, keepdims))

    def argmin(self, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        """Any place of several NaNs."""
        return lift(place_of_extreme("argmin", lower(a), axis, keepdims))

    def lexsort(self, keys: Any) -> Any:
        """Of one array."""
        if type(keys) is not StrictArray or keys.ndim > 2:
            raise TypeError("lexsort takes an array of one or two dims")
        return lift(np.lexsort(keys.numpy))

    def clip(self, a: Any, low: Any, high: Any, out: Any = None) -> Any:
        """No options of ufuncs."""
        made = np.clip(lower(a), lower(low), lower(high), out=lower(out))
        return lift(made) if out is None else out

    def take_along_axis(self, a: Any, index: Any, axis: int) -> Any:
        """What is out of range wraps around, as in any index."""
        places = lower(index) % a.shape[axis] if a.shape[axis] else lower(index)
        return lift(np.take_along_axis(lower(a), places, axis))

    def put_along_axis(self, a: Any, index: Any, values: Any, axis: int) -> None:
        """What is out of range wraps around, as in any index."""
        places = lower(index) % a.shape[axis] if a.shape[axis] else lower(index)
        np.put_along_axis(lower(a), places, lower(values), axis)

    def copyto(self, target: Any, source: Any, *, where: Any = None) -> None:
        """Elements, or those that a mask selects."""
        np.copyto(
            lower(target), lower(source), where=True if where is None else lower(where)
        )


def _function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        if name in _WAITING:
            wait(name)
        if name == "concatenate" and not all(type(a) is StrictArray for a in args[0]):
            raise TypeError("Only cupy arrays can be concatenated")
        if name in _TAKES_HOST:  # what the host has may come in
            args = tuple(a.numpy if type(a) is StrictArray else a for a in args)
        if name in _CARRYING:
            args = tuple(a.numpy if type(a) is StrictArray else a for a in args)
        elif name not in _TAKES_HOST:
            args = tuple(map(lower, args))
        given = {k: lower(v) for k, v in options.items()}
        made = function(*args, **given)
        return lift(cards.filled(made, *args) if name in cards.FILLING else made)

    return call
