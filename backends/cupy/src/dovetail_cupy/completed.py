"""CuPy with what the shared kernels use beyond it.

That is `reduce` and `accumulate` of ufuncs other than sums and products, `initial=`,
`at` in dtypes without atomics, lists among arrays to join, arrays from strides, shifts
by more bits than there are, and zeros that are below zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

# What reduces like a ufunc: CuPy's own can be reduced only where they add or multiply.
_REDUCTIONS: Final = {
    "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
_FOLDING: Final = {"add", "multiply"}
_COMPLETED: Final = (*_REDUCTIONS, *_FOLDING, "logaddexp")
# Atomics are there for integers of 32 bits and more, and for floats.
_WIDER: Final = {
    "bool": "int32", "uint8": "int32", "int8": "int32", "int16": "int32",
    "uint16": "int32",
}  # fmt: skip


class Ufunc:
    """A ufunc with reductions, scans and scatters that CuPy's has not."""

    def __init__(self, xp: Any, name: str) -> None:
        self.__name__ = name
        self._xp = xp
        self._own = getattr(xp, name)
        self._reduction: Callable[..., Any] | None = None
        if name in _REDUCTIONS:
            self._reduction = getattr(xp, _REDUCTIONS[name])

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._own(*args, **options)

    def reduce(
        self, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
        keepdims: bool = False, initial: Any = None,
    ) -> Any:  # fmt: skip
        """As NumPy's; of a number along axis 0, too."""
        axes = axis if isinstance(axis, tuple) else (axis,)
        if not a.ndim or not axes:
            return self._of_nothing(a, dtype)
        if initial is not None and not math.prod(a.shape[d] for d in axes):
            return self._xp.full(_reduced(a.shape, axes, keepdims), initial, a.dtype)
        if self._reduction is None:
            return self._own.reduce(a, axis, dtype, out, keepdims)
        return self._reduction(a, axis=axis, out=out, keepdims=keepdims)

    def _of_nothing(self, a: Any, dtype: Any) -> Any:
        """A reduction over no dims, which is a copy in the dtype of the result."""
        if self.__name__.startswith("logical"):
            return a.astype(bool)
        return a.astype(a.dtype if dtype is None else dtype)

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None) -> Any:
        """In log2 n launches: each combines with what lies 1, 2, 4 … places before."""
        if self.__name__ in _FOLDING:
            return self._own.accumulate(a, axis, dtype)
        y = a.astype(a.dtype if dtype is None else dtype)
        lead, step, n = (slice(None),) * axis, 1, a.shape[axis]
        while step < n:
            late, early = (*lead, slice(step, n)), (*lead, slice(0, n - step))
            combined = y.copy()
            combined[late] = self._own(y[late], y[early])
            y, step = combined, 2 * step
        return y

    def at(self, a: Any, places: Any, values: Any) -> None:
        """Combine at places that may meet; narrow integers by way of wider ones."""
        if a.dtype.kind == "c":
            self._at_complex(a, places, values)
            return
        wider = _WIDER.get(a.dtype.name)
        if wider is None:
            self._own.at(a, places, values)
            return
        wide = a.astype(wider)
        more = values.astype(wider) if hasattr(values, "astype") else values
        self._own.at(wide, places, more)
        a[...] = wide.astype(a.dtype)

    def _at_complex(self, a: Any, places: Any, values: Any) -> None:
        """Sums of complex numbers, one part after the other."""
        for part in ("real", "imag"):
            summed = getattr(a, part).copy()
            self._own.at(summed, places, getattr(values, part).copy())
            getattr(a, part)[...] = summed


class Shift:
    """A shift of integers, also by numbers of bits that the hardware takes modulo."""

    def __init__(self, xp: Any, name: str) -> None:
        self.__name__ = name
        self._xp = xp
        self._own = getattr(xp, name)

    def __call__(self, a: Any, b: Any, out: Any = None) -> Any:
        """As NumPy's: what is shifted out is gone, but the sign to the right."""
        xp, bits = self._xp, 8 * a.dtype.itemsize
        inside = (b >= 0) & (b < bits)
        shifted = self._own(a, xp.where(inside, b, xp.zeros_like(b)))
        gone = xp.zeros_like(a)
        if self.__name__ == "right_shift" and a.dtype.kind == "i":
            gone = self._own(a, xp.full_like(a, bits - 1))
        y = xp.where(inside, shifted, gone)
        if out is None:
            return y
        xp.copyto(out, y)
        return out


def whole_fmod(xp: Any) -> Callable[..., Any]:
    """Remainders with the sign of what is divided; CuPy's go through float64."""
    own = xp.fmod

    def fmod(a: Any, b: Any, out: Any = None) -> Any:
        if a.dtype.kind == "f":
            return own(a, b, out=out)
        floored = a - xp.floor_divide(a, b) * b
        over = (floored != 0) & ((floored < 0) != (a < 0))
        y = xp.where(b == 0, xp.zeros_like(b), xp.where(over, floored - b, floored))
        if out is None:
            return y
        xp.copyto(out, y)
        return out

    return fmod


def wrapping_lcm(xp: Any) -> Callable[..., Any]:
    """Least common multiples modulo what the dtype holds; CuPy's lose the sign."""

    def lcm(a: Any, b: Any, out: Any = None) -> Any:
        unsigned = f"uint{8 * a.dtype.itemsize}"
        sizes = [xp.absolute(x).astype(unsigned) for x in (a, b)]
        common = xp.gcd(*sizes)
        part = xp.floor_divide(sizes[0], xp.maximum(common, common.dtype.type(1)))
        y = (part * sizes[1]).astype(a.dtype)
        if out is None:
            return y
        xp.copyto(out, y)
        return out

    return lcm


def keeping_sign(number: Any) -> Any:
    """A number as an array of one element, where CuPy would clear memory for it.

    It does so for all that equals 0, and -0.0 does.
    """
    host = np.asarray(number)
    parts = (host.real, host.imag) if host.dtype.kind == "c" else (host,)
    if host.dtype.kind in "iub" or not any(map(np.signbit, parts)):
        return None
    return host.reshape(1) if not number else None


def _reduced(
    shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool
) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if d in axes else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in axes)


class Fourier:
    """Transforms of what lies where cuFFT can read it: at multiples of two numbers."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def __getattr__(self, name: str) -> Any:
        transform = getattr(self._own, name)

        def call(a: Any, *args: Any, **options: Any) -> Any:
            if a.dtype.kind == "f" and a.data.ptr % (2 * a.dtype.itemsize):
                a = a.copy()
            return transform(a, *args, **options)

        setattr(self, name, call)
        return call


class Completed:
    """A module-like object: the library, with differences filled in."""

    waits = True
    """The host would have to wait for values; see `dovetail.xp.kernels.on_device`."""

    def __init__(self, xp: Any) -> None:
        self._xp = xp
        self.__name__ = xp.__name__
        for name in _COMPLETED:
            setattr(self, name, Ufunc(xp, name))
        for name in ("left_shift", "right_shift"):
            setattr(self, name, Shift(xp, name))
        self.fmod, self.lcm = whole_fmod(xp), wrapping_lcm(xp)
        self.fft = Fourier(xp.fft)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._xp, name)
        setattr(self, name, found)
        return found

    def asarray(self, a: Any, dtype: Any = None) -> Any:
        """With the sign of -0.0."""
        if isinstance(a, int | float | complex | np.generic):
            signed = keeping_sign(a)
            if signed is not None:
                return self._xp.asarray(signed, dtype).reshape(())
        return self._xp.asarray(a, dtype)

    def full(self, shape: Any, value: Any, dtype: Any = None) -> Any:
        """With the sign of -0.0."""
        if keeping_sign(value) is None:
            return self._xp.full(shape, value, dtype)
        return self._xp.broadcast_to(self.asarray(value, dtype), shape).copy()

    def max(
        self, a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None
    ) -> Any:
        """With a start, which makes it the greatest of no elements, too."""
        if initial is None:
            return self._xp.max(a, axis, keepdims=keepdims)
        axes = tuple(range(a.ndim)) if axis is None else axis
        top = self.maximum.reduce(a, axes, None, None, keepdims, initial)
        return self._xp.maximum(top, initial)

    def count_nonzero(self, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """With dims that stay."""
        return self._xp.sum(a != 0, axis, keepdims=keepdims)

    def multiply_by(self, products: Any) -> None:
        """Let products of matrices be those of another library, where it has them."""
        own = self.matmul

        def matmul(a: Any, b: Any, out: Any = None) -> Any:
            if min(a.ndim, b.ndim) > 1 and products.serves(a, b):
                return products.matmul(a, b, out)
            return own(a, b, out)

        self.matmul = matmul  # type: ignore[method-assign]

    def matmul(self, a: Any, b: Any, out: Any = None) -> Any:
        """CuPy takes `out` by its name alone."""
        return self._xp.matmul(a, b) if out is None else self._xp.matmul(a, b, out=out)

    def argmax(self, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """The first place of the greatest, or of NaN: of several, CuPy names any."""
        return self._place("argmax", a, axis, keepdims)

    def argmin(self, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """The first place of the least, or of NaN."""
        return self._place("argmin", a, axis, keepdims)

    def _place(self, name: str, a: Any, axis: Any, keepdims: bool) -> Any:
        xp = self._xp
        found = getattr(xp, name)(a, axis, keepdims=keepdims)
        if a.dtype.kind != "f" or not a.size:
            return found
        nan = xp.isnan(a)
        first = xp.argmax(nan, axis, keepdims=keepdims)
        return xp.where(xp.any(nan, axis, keepdims=keepdims), first, found)

    def concatenate(self, arrays: Any, axis: int = 0) -> Any:
        """With lists of numbers among the arrays."""
        parts = [self._xp.asarray(a) if isinstance(a, list) else a for a in arrays]
        return self._xp.concatenate(tuple(parts), axis)

    def ndarray(self, shape: Any, dtype: Any, a: Any, offset: int, strides: Any) -> Any:
        """A view of an array, from its first element on."""
        strided = self._xp.lib.stride_tricks.as_strided
        return strided(a, tuple(shape), tuple(strides))
