"""The array of the device, and the kernels of level 0, which dovetail cannot compose.

A kernel gets arrays, and attributes by name, and returns a fresh array of the declared
dtype. It neither promotes nor broadcasts: core has cast and expanded what it gets, so
that strides may be 0 or negative. An underscore marks ops that write their first array.
"""

from typing import Any

import numpy as np

from dovetail.dtypes import DType, bool_, float32, int32, int64

# What the device holds: claim another dtype here.
BOOL, INTS, FLOATS = {bool_}, {int32, int64}, {float32}
NUMBERS, BITS, ALL = INTS | FLOATS, BOOL | INTS, BOOL | INTS | FLOATS


class Array:
    """A look into memory that it keeps alive; dovetail reads `shape` alone."""

    def __init__(self, memory: Any, shape: Any, strides: Any, offset: int = 0) -> None:
        self.memory, self.shape = memory, tuple(shape)
        self.strides, self.offset = tuple(strides), offset

    @property
    def values(self) -> Any:
        """The elements; NumPy refuses places outside the memory."""
        size = self.memory.itemsize
        steps = tuple(size * stride for stride in self.strides)
        start = size * self.offset
        return np.ndarray(self.shape, self.memory.dtype, self.memory, start, steps)


def fresh(values: Any) -> Array:
    """The values in memory of their own."""
    whole = np.array(values, order="C")
    strides = (step // whole.itemsize for step in whole.strides)
    return Array(whole.reshape(-1), whole.shape, strides)


def cast(input: Array, dtype: DType) -> Array:
    """The values of `input` in another dtype. To float: nearest even. To integers:
    truncated; NaN and overflow unspecified, but no trap. To bool: whether not zero. To
    real from complex: the real part."""
    return fresh(input.values.astype(dtype.numpy))


def bitcast(input: Array, dtype: DType) -> Array:
    """The raw bits of `input` read as another dtype of the same width."""
    return fresh(input.values.copy().view(dtype.numpy))


def where(condition: Array, input: Array, other: Array) -> Array:
    """`input` where the condition holds, else `other`; no NaN leaks from the rest."""
    return fresh(np.where(condition.values, input.values, other.values))


def take_along(input: Array, index: Array, dim: int) -> Array:
    """`input[..., index[..., i, ...], ...]` along `dim`; sizes elsewhere are equal.
    Indices are in range and not negative: callers have checked them."""
    return fresh(np.take_along_axis(input.values, index.values, dim))


def scatter_set_(input: Array, index: Array, src: Array, dim: int) -> None:
    """Write `src` to the places `index` along `dim` of `input`. `index` and `src` have
    one shape. Indices are in range; where one repeats, any one of its values stays."""
    np.put_along_axis(input.values, index.values, src.values, dim)


def scatter_add_(input: Array, index: Array, src: Array, dim: int) -> None:
    """Add `src` to the places `index` along `dim`; repeated ones accumulate."""
    places = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    places[dim] = index.values
    np.add.at(input.values, tuple(places), src.values)


def iota(n: int, dtype: DType, index: int) -> Array:
    """0, 1, … n-1 in int32, the one dtype that it is asked for."""
    return fresh(np.arange(n, dtype=dtype.numpy))


def add(input: Array, other: Array) -> Array:
    """input + other; integers wrap, the sum of bools is `or`."""
    return fresh(input.values + other.values)


def sub(input: Array, other: Array) -> Array:
    """input - other; integers wrap."""
    return fresh(input.values - other.values)


def mul(input: Array, other: Array) -> Array:
    """input * other; integers wrap, the product of bools is `and`."""
    return fresh(input.values * other.values)


def div(input: Array, other: Array) -> Array:
    """input / other, at most 2.5 ulp; IEEE 754 at 0; integers have become floats."""
    return fresh(input.values / other.values)


def idiv(input: Array, other: Array) -> Array:
    """Integer quotient, truncated; MIN / -1 wraps, n / 0 is 0 and does not trap."""
    p, q = input.values, other.values
    floored = np.floor_divide(p, q)
    return fresh(floored + ((floored < 0) & (floored * q != p) & (q != 0)))


def float_fmod(input: Array, other: Array) -> Array:
    """Remainder with the sign of `input`: a - trunc(a / b) * b, unrounded."""
    return fresh(np.fmod(input.values, other.values))


def sqrt(input: Array) -> Array:
    """Square root, at most 3 ulp; NaN below zero."""
    return fresh(np.sqrt(input.values))


def floor(input: Array) -> Array:
    """The greatest integer not above; -0 stays, as integers do."""
    return fresh(np.floor(input.values))


def maximum(input: Array, other: Array) -> Array:
    """The greater of each pair; NaN if either is NaN."""
    return fresh(np.maximum(input.values, other.values))


def lt(input: Array, other: Array) -> Array:
    """Whether input < other; NaN compares false."""
    return fresh(input.values < other.values)


def eq(input: Array, other: Array) -> Array:
    """Whether input equals other; NaN compares false."""
    return fresh(input.values == other.values)


def bitwise_and(input: Array, other: Array) -> Array:
    """Bitwise and."""
    return fresh(input.values & other.values)


def bitwise_xor(input: Array, other: Array) -> Array:
    """Bitwise exclusive or."""
    return fresh(input.values ^ other.values)


def shift_left(input: Array, other: Array) -> Array:
    """`input` shifted left by 0 <= other < width bits."""
    return fresh(input.values << other.values)


def shift_right(input: Array, other: Array) -> Array:
    """`input` shifted right by 0 <= other < width bits, zeros coming in (logical)."""
    unsigned = f"u{input.memory.itemsize}"
    shifted = input.values.view(unsigned) >> other.values.astype(unsigned)
    return fresh(shifted.view(input.memory.dtype))


def exp(input: Array) -> Array:
    """e to the power of `input`, at most 3 ulp."""
    return fresh(np.exp(input.values))


def log(input: Array) -> Array:
    """Natural logarithm, at most 3 ulp; -inf at 0, NaN below."""
    return fresh(np.log(input.values))


def sin(input: Array) -> Array:
    """Sine of `input` in radians, at most 4 ulp."""
    return fresh(np.sin(input.values))


def cos(input: Array) -> Array:
    """Cosine of `input` in radians, at most 4 ulp."""
    return fresh(np.cos(input.values))


def float_pow(input: Array, other: Array) -> Array:
    """`input` to the power of `other`, at most 16 ulp; IEEE 754 at special points."""
    return fresh(np.power(input.values, other.values))


def bmm(input: Array, mat2: Array) -> Array:
    """Products of a batch of matrices [b, n, k] and [b, k, m]. Accumulates in at least
    float32, without reduced-precision inputs; k = 0 gives 0."""
    return fresh(input.values @ mat2.values)


def sum(
    input: Array, dim: tuple[int, ...], keepdim: bool, dtype: DType | None
) -> Array:
    """The sum over `dim` in `dtype`; empty gives 0, 16-bit floats accumulate wider.
    Without `dtype`, bools and integers add up in int64 (int32 where there is none)."""
    own = input.memory.dtype
    result = dtype.numpy if dtype else np.int64 if own.kind in "biu" else own
    return fresh(np.sum(input.values, axis=dim, keepdims=keepdim, dtype=result))


def amax(input: Array, dim: tuple[int, ...], keepdim: bool) -> Array:
    """The greatest over `dim`, not empty; NaN wins, and ties share the gradient."""
    return fresh(np.max(input.values, axis=dim, keepdims=keepdim))


# Kernels by the dtypes of their first array (of the result, where there is none).
TABLE = (
    (ALL, (cast, bitcast, where, take_along, scatter_set_, lt, eq, sum, amax)),
    (NUMBERS, (scatter_add_, add, sub, mul, maximum)),
    ({int32}, (iota,)),
    (FLOATS, (div, float_fmod, sqrt, floor, exp, log, sin, cos, float_pow, bmm)),
    (INTS, (idiv, shift_left, shift_right)),
    (BITS, (bitwise_and, bitwise_xor)),
)  # fmt: skip
