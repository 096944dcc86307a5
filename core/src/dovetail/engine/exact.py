"""Oracles that are more exact than what they judge, and computed by other code.

An oracle is a function of an arithmetic `m` and of numbers in it:

    oracle=exact(lambda m, input: input / (1 + m.exp(-input)))

The arithmetic is the platform's long double where that has 64 bits, else mpmath with
100 (the extra `conformance`). Integers, for which a second function may be given, are
Python's own, wrapped to the width of the result.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache, partial
from typing import Any, Final

import numpy as np

from dovetail.dtypes import Array

Function = Callable[..., Any]

# mpmath takes 5 to 30 µs an element: the most that its oracles are asked at once.
BY_MPMATH: Final = 256
_NEAR: Final = 0.5
_BITS: Final = 63  # of a significand that rounds to float64 as the truth does
_PRECISION: Final = 100  # of mpmath's, in bits
_SMALL: Final = 1 << 8  # elements of arrays where nothing is won by sorting them

# Functions of one number: by our name, NumPy's, and mpmath's where it is another.
_UNARY: Final = {
    "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan",
    "expm1": "expm1", "log1p": "log1p", "sqrt": "sqrt", "log10": "log10",
    "log2": "log2", "exp2": "exp2", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip
_BINARY: Final = {"atan2": "arctan2", "hypot": "hypot", "pow": "power"}


class LongDouble:
    """Functions of arrays of long double, which libm computes apart from float64."""

    pi: Final = 4 * np.arctan(np.longdouble(1))
    ln2: Final = np.log(np.longdouble(2))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, _of_numpy(name))

    def log1p(self, x: Any) -> Any:
        """Of a complex number by its parts, since NumPy's loses digits next to 0."""
        if np.asarray(x).dtype.kind != "c":
            return np.log1p(x)
        a, b = x.real, x.imag
        near = 0.5 * np.log1p(a * (2 + a) + b * b)
        size = np.where(np.abs(x) < _NEAR, near, np.log(np.abs(1 + x)))
        return size + 1j * np.arctan2(b, 1 + a)

    def widened(self, value: Any) -> Any:
        """An array of floats or integers in this arithmetic; numbers as they are."""
        if not isinstance(value, np.ndarray) or value.dtype.kind == "b":
            return value
        complex_ = value.dtype.kind == "c"
        return value.astype(np.clongdouble if complex_ else np.longdouble)

    def rounded(self, result: Any, is_complex: bool) -> Array:
        """A result as float64 or complex128; predicates stay bools."""
        found: Array = np.asarray(result)
        if found.dtype.kind == "b":
            return found
        wide = is_complex and found.dtype.kind == "c"
        y: Array = found.astype(np.complex128 if wide else np.float64)
        return y


class ByMpmath:
    """The same of object arrays of mpmath's numbers, for platforms without one."""

    def __init__(self, precision: int = _PRECISION) -> None:
        import mpmath  # type: ignore[import-untyped]

        self._context: Any = mpmath.mp.clone()
        self._context.prec = precision
        self.pi, self.ln2 = +self._context.pi, +self._context.ln2

    def __getattr__(self, name: str) -> Any:
        context, special = self._context, getattr(np, _of_numpy(name))
        own = _OF_MPMATH.get(name)
        function = getattr(context, name) if own is None else own(context)

        def call(*numbers: Any) -> Any:
            if any(_is_special(v) for v in numbers):
                return special(*map(np.float64, numbers))
            try:
                y = function(*map(context.convert, numbers))
            except (ValueError, ZeroDivisionError):  # no value, or a pole
                return special(*map(np.float64, numbers))
            outside = y.imag and not any(v.imag for v in numbers)
            return np.float64(math.nan) if outside else y

        return np.frompyfunc(call, 2 if name in _BINARY else 1, 1)

    def by(self, function: Function, *v: Any) -> Any:
        """A function of the context and numbers, such as those that NumPy lacks."""
        return function(self._context, *v)

    def widened(self, value: Any) -> Any:
        """As of long double; zeros, infinities and NaN stay what IEEE 754 has."""
        if not isinstance(value, np.ndarray) or value.dtype.kind in "bO":
            return value

        def convert(v: Any) -> Any:
            if v and np.isfinite(v):
                return self._context.convert(v)
            return self._context.convert(v) if isinstance(v, complex) else np.float64(v)

        return np.asarray(np.frompyfunc(convert, 1, 1)(value), object)

    def rounded(self, result: Any, is_complex: bool) -> Array:
        """As of long double; of real numbers a complex result is NaN."""
        found: Array = np.asarray(result)
        if found.dtype.kind == "b":
            return found
        of: Function = complex if is_complex else _real
        to = np.complex128 if is_complex else np.float64
        y: Array = np.asarray(np.frompyfunc(of, 1, 1)(found)).astype(to)
        return y


def _is_special(value: Any) -> bool:
    """Whether IEEE 754 has a say, which mpmath does not follow."""
    return isinstance(value, np.float64) and not (value and np.isfinite(value))


def _real(value: Any) -> float:
    if getattr(value, "imag", 0):
        return math.nan
    return float(getattr(value, "real", value))


# What mpmath lacks, or gives another name.
_OF_MPMATH: Final[dict[str, Function]] = {
    "pow": lambda c: c.power,
    "log2": lambda c: lambda v: c.log(v, 2),
    "exp2": lambda c: lambda v: c.power(2, v),
}


def _of_numpy(name: str) -> str:
    """NumPy's name of a function of both arithmetics."""
    found = _UNARY.get(name) or _BINARY.get(name)
    if found is None:
        raise AttributeError(f"no function {name!r} of exact oracles")
    return found


_chosen: Final[ContextVar[ByMpmath | None]] = ContextVar("chosen", default=None)


@contextmanager
def unrounded(m: ByMpmath) -> Iterator[None]:
    """Let oracles compute in mpmath's arithmetic, and give its numbers as they are."""
    token = _chosen.set(m)
    try:
        yield
    finally:
        _chosen.reset(token)


def arithmetic() -> Any:
    """The arithmetic that oracles compute in here."""
    return _chosen.get() or _of_platform()


@cache
def _of_platform() -> Any:
    wide = np.finfo(np.longdouble).nmant >= _BITS
    return LongDouble() if wide else ByMpmath()


class exact:  # noqa: N801  a declaration reads it as a function
    """An oracle that evaluates `function` more exactly than any format has it.

    One object, and not a closure, which would be four to the garbage collector.

    Args:
        function: takes the arithmetic and the arguments, or names a function of it.
        integers: the same for arrays of integers or bools alone, of Python's integers
            one by one; without it they are numbers like others.
    """

    __slots__ = ("function", "integers")

    def __init__(
        self, function: str | Function, integers: Function | None = None
    ) -> None:
        self.function = function
        self.integers = integers

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        arrays = [a for a in args if isinstance(a, np.ndarray)]
        if self.integers is not None and all(a.dtype.kind in "iub" for a in arrays):
            return whole(self.integers, *args, **attrs)
        m, function = arithmetic(), self.function
        is_complex = any(a.dtype.kind == "c" for a in arrays)
        wide = [m.widened(a) for a in args]
        with np.errstate(all="ignore"):
            if isinstance(function, str):
                found = getattr(m, function)(*wide)
            else:
                found = function(m, *wide, **attrs)
        return found if _chosen.get() is m else m.rounded(found, is_complex)


class each:  # noqa: N801  as `exact`
    """An oracle by a function of numbers, one of each array.

    Args:
        function: of floats, such as libm's.
        precise: the same of mpmath's numbers: takes the context and the numbers.
    """

    __slots__ = ("function", "precise")

    def __init__(self, function: Function, precise: Function) -> None:
        self.function = function
        self.precise = precise

    def __call__(self, *given: Array, **attributes: Any) -> Array:
        m = _chosen.get()
        if m is None:
            bits = [np.array(x, np.float64, order="C").view(np.int64) for x in given]
            asked = partial(_of_bits, self.function, tuple(attributes.items()))
            found = np.frompyfunc(asked, len(given), 1)(*bits)
            return np.asarray(found, np.float64)
        precise, function = partial(self.precise, **attributes), self.function

        def by_numbers(*v: Any) -> Any:
            if any(isinstance(x, np.float64) for x in v):  # zeros, infinities and NaN
                return np.float64(function(*map(float, v), **attributes))
            return m.by(precise, *v)

        wide = [m.widened(x) for x in given]
        return np.asarray(np.frompyfunc(by_numbers, len(given), 1)(*wide))


@lru_cache(maxsize=1 << 14)
def _of_bits(
    function: Function, attributes: tuple[tuple[str, Any], ...], *bits: int
) -> float:
    """A function of floats by their bits, as zeros differ in sign; some take long."""
    numbers = struct.unpack(f"={len(bits)}d", struct.pack(f"={len(bits)}q", *bits))
    return float(function(*numbers, **dict(attributes)))


def whole(function: Function, *args: Any, **attrs: Any) -> Array:
    """A function of Python's integers, element by element, wrapped to their width.

    Numbers that meet again are not asked again: of large arrays, most of them do.
    """
    dtype = np.result_type(*(a for a in args if isinstance(a, np.ndarray)))
    mask = (1 << (dtype.itemsize * 8)) - 1
    shape = np.broadcast_shapes(*map(np.shape, args))
    met, places = _met(args)
    found = [int(function(*v, **attrs)) & mask for v in met]
    y: Array = np.array(found, np.uint64)[places].reshape(shape).astype(dtype)
    return y


def _met(args: tuple[Any, ...]) -> tuple[Iterable[tuple[Any, ...]], Any]:
    """The numbers that meet in arrays that broadcast, and which of them meet where."""
    arrays = np.broadcast_arrays(*args)
    if arrays[0].size < _SMALL:
        return zip(*(a.reshape(-1).tolist() for a in arrays), strict=True), slice(None)
    code = np.zeros(arrays[0].size, np.int64)
    each = []
    for a in arrays:
        values, places = np.unique(a, return_inverse=True)
        each.append(values)
        code = code * values.size + places.reshape(-1)
    code, places = np.unique(code, return_inverse=True)
    met = []
    for values in reversed(each):
        code, at = np.divmod(code, values.size)
        met.append(values[at].tolist())
    return zip(*reversed(met), strict=True), places


__all__ = [
    "BY_MPMATH",
    "ByMpmath",
    "LongDouble",
    "arithmetic",
    "each",
    "exact",
    "unrounded",
    "whole",
]
