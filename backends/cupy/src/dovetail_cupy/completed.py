"""CuPy with what the shared kernels use beyond it.

That is `reduce` and `accumulate` of ufuncs other than sums and products, `initial=`,
`at` in dtypes without atomics, lists among arrays to join, and arrays from strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

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


def _reduced(
    shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool
) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if d in axes else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in axes)


class Completed:
    """A module-like object: the library, with differences filled in."""

    waits = True
    """The host would have to wait for values; see `dovetail.xp.kernels.on_device`."""

    def __init__(self, xp: Any) -> None:
        self._xp = xp
        self.__name__ = xp.__name__
        for name in _COMPLETED:
            setattr(self, name, Ufunc(xp, name))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._xp, name)
        setattr(self, name, found)
        return found

    def max(
        self, a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None
    ) -> Any:
        """With a start, which makes it the greatest of no elements, too."""
        if initial is None:
            return self._xp.max(a, axis, keepdims=keepdims)
        axes = tuple(range(a.ndim)) if axis is None else axis
        top = self.maximum.reduce(a, axes, None, None, keepdims, initial)
        return self._xp.maximum(top, initial)

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
