"""Random tensors as functions of a seed and a place in its stream.

The law of the numbers is in `dovetail.ops.philox`. Seed and offset are scalars, so a
compiled plan takes them as inputs; `dovetail.engine.generator` hands them out.
"""

# Ops are known by their declarations; what they return is typed where it matters.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail.codegen.philox import LOW32
from dovetail.dtypes import (
    FLOAT,
    HALF,
    INTEGRAL,
    DType,
    bool_,
    float32,
    float64,
    int32,
    int64,
)  # fmt: skip
from dovetail.engine.attributes import Scalar, Shape
from dovetail.engine.cases import bools
from dovetail.engine.declare import op
from dovetail.engine.inplace import write
from dovetail.engine.kinds import Kind
from dovetail.engine.tensor import Tensor
from dovetail.ops import philox
from dovetail.ops.create import MADE, empty, full, zeros_like
from dovetail.ops.extremes import amax
from dovetail.ops.order import argsort
from dovetail.ops.philox import random_words, whole
from dovetail.ops.primitive import (
    bitwise_and,
    bitwise_xor,
    cast,
    cos,
    log,
    lt,
    maximum,
    shift_left,
    shift_right,
    sin,
    sqrt,
    take_along,
    where,
)  # fmt: skip
from dovetail.ops.view import basic_index, reshape
from dovetail.xp import random_law as law


def _each(dtype: DType, *_: Any) -> int:
    """How many words a float takes."""
    return law.words_each(dtype)


def _wide(dtype: DType) -> DType:
    """The dtype that floats are computed in."""
    return float32 if dtype in HALF else dtype


def _words(count: int, seed: Any, offset: Any, kind: Kind) -> Tensor:
    return random_words(count, seed, offset, 0, kind.with_dtype(int32))


@op(accepts=FLOAT, draws=_each, **MADE)
def uniform(
    shape: Shape, low: Scalar, high: Scalar, seed: Scalar, offset: Scalar, kind: Kind
) -> Tensor:
    """Floats uniform in [low, high); `low` where both are equal."""
    dtype = kind.dtype
    words = _words(math.prod(tuple(shape)) * _each(dtype), seed, offset, kind)
    y = _units(words, dtype)
    if (low, high) != (0, 1):
        y = y * scalar(high - low) + scalar(low)
        greatest = full(
            (), law.greatest_below(scalar(low), scalar(high), dtype), y._kind
        )
        y = where(lt(greatest, y), greatest, y)
    made: Tensor = cast(y, dtype) if y.dtype is not dtype else y
    return reshape(made, tuple(shape))


def scalar(value: Any) -> float:
    """A scalar that is real."""
    return float(value)


def _units(words: Tensor, dtype: DType) -> Tensor:
    """Words as fractions in [0, 1), in the dtype that floats are computed in."""
    bits = law.UNIT_BITS[dtype]
    if dtype is not float64:
        upper = philox.upper_bits(words, bits)
        return cast(upper, float32) * 2.0**-bits
    low, high = philox.lanes_of(words, 2)
    rest = bitwise_and(high, 31) * 2**21 + philox.upper_bits(low, 21)
    upper = cast(philox.upper_bits(high, 27), float64) * 2.0**-27
    return upper + cast(rest, float64) * 2.0**-53


@op(cancels=True, accepts=FLOAT, draws=_each, together=2, **MADE)
def normal(
    shape: Shape, mean: Scalar, std: Scalar, seed: Scalar, offset: Scalar, kind: Kind
) -> Tensor:
    """Normal floats; before scaling, within 8 ulp of the pair's radius.

    Box & Muller (1958): `sqrt(-2 log u) * cos(2 pi v)`, and the sine. In float64, u
    and v are made of the upper 53 of 64 bits, and 2^-53 is added to u.
    """
    dtype, count = kind.dtype, math.prod(tuple(shape))
    each = law.words_each(dtype)
    skip = whole(offset) // each % 2
    pairs = -(-(skip + count) // 2)
    words = _words(pairs * 2 * each, seed, whole(offset) - skip * each, kind)
    radius, angle = _polar(words, _wide(dtype))
    y = empty((pairs, 2), radius._kind)
    for lane, turned in enumerate((cos(angle), sin(angle))):
        write("normal", basic_index(y, (slice(None), lane)), radius * turned)
    y = basic_index(reshape(y, (pairs * 2,)), (slice(skip, skip + count),))
    if (mean, std) != (0, 1):
        y = y * scalar(std) + scalar(mean)
    made: Tensor = cast(y, dtype)
    return reshape(made, tuple(shape))


def _polar(words: Tensor, dtype: DType) -> tuple[Tensor, Tensor]:
    """Radius and angle, from -pi to pi, of each pair of elements."""
    if dtype is float32:
        first, second = philox.lanes_of(words, 2)
        turn = cast(second, float32) * 2.0**-32
        u = _unsigned(first) * 2.0**-32 + 2.0**-33
    else:
        table = reshape(words, (-1, 4))
        u = _units(basic_index(table, (slice(None), slice(0, 2))), float64) + 2.0**-53
        turn = _units(basic_index(table, (slice(None), slice(2, 4))), float64)
        turn = where(lt(turn, 0.5), turn, turn - 1)
    return sqrt(log(u) * -2.0), turn * (2 * math.pi)


def _unsigned(words: Tensor) -> Tensor:
    """Words as float32, rounded once."""
    upper, lower = shift_right(words, 16), bitwise_and(words, 0xFFFF)
    return cast(upper, float32) * 65536.0 + cast(lower, float32)


@op(cancels=True, accepts=FLOAT, draws=_each, **MADE)
def exponential(
    shape: Shape, rate: Scalar, seed: Scalar, offset: Scalar, kind: Kind
) -> Tensor:
    """Exponential floats, never 0: `-log(u) / rate` with u uniform in (0, 1]."""
    dtype = kind.dtype
    words = _words(math.prod(tuple(shape)) * _each(dtype), seed, offset, kind)
    if dtype is float64:
        u, least = _units(words, float64) + 2.0**-53, 2.0**-54
    else:
        u, least = _unsigned(words) * 2.0**-32 + 2.0**-33, 2.0**-26
    y = maximum(log(u) * -1.0, least) * (1 / scalar(rate))
    made: Tensor = cast(y, dtype)
    return reshape(made, tuple(shape))


@op(draws=1, **{**MADE, "result": bool_})
def random_mask(
    shape: Shape, p: Scalar, seed: Scalar, offset: Scalar, kind: Kind
) -> Tensor:
    """True with probability `p`, to within 2^-33."""
    limit, sizes = law.threshold(scalar(p)), tuple(shape)
    if limit in (0, 1 << 32):
        return full(sizes, limit > 0, kind.with_dtype(bool_))
    words = _words(math.prod(sizes), seed, offset, kind)
    return reshape(philox.below(words, limit), sizes)


@op(shape=lambda p, **_: p, accepts=FLOAT, draws=_each,
    grad=lambda ct: zeros_like(ct))  # fmt: skip
def random_trials(p: Tensor, seed: Scalar, offset: Scalar) -> Tensor:
    """1 with the probability that `p` has at each element, else 0.

    Where a uniform number is below p; 16-bit p are compared as float32. The gradient
    is 0, as in torch.
    """
    draws = uniform(tuple(p._a.shape), 0, 1, seed, offset, p._kind)
    return cast(lt(draws, p), p.dtype)


@op(accepts=FLOAT, masks=("mask",),
    oracle=lambda x, mask, scale: x * (mask * scale),
    cases=lambda _: [
        ([2, 3], bools(2, 3), 1.25), ([2, 3], bools(3), 2.0), ([], bools(), 3.0),
    ])  # fmt: skip
def masked_scale(input: Tensor, mask: Tensor, scale: Scalar) -> Tensor:
    """`input` times `scale` where the mask holds, else times 0: dropout's gradient."""
    return input * (cast(mask, input.dtype) * scale)


masked_scale.grad(input=lambda ct, mask, scale: masked_scale(ct, mask, scale))


@op(shape=lambda input, **_: (input, input), accepts=FLOAT, promote=None,
    result=("same", bool_), outputs=("y", "mask"), residuals=1, draws=1,
    row_major=False,
    grad=lambda ct, mask, p: masked_scale(ct, mask, law.kept_scale(p)))  # fmt: skip
def random_dropout(input: Tensor, p: Scalar, seed: Scalar, offset: Scalar) -> Any:
    """`input` with elements zeroed with probability `p`, the others over `1 - p`.

    Hinton et al. 2012, arXiv:1207.0580; scaled in training as by Srivastava et al.
    2014. As in torch it is a product: what is infinite and dropped becomes NaN.
    """
    shape = tuple(input._a.shape)
    mask = random_mask(shape, 1 - scalar(p), seed, offset, input._kind)
    return masked_scale(input, mask, law.kept_scale(scalar(p))), mask


def _integer_words(dtype: DType, low: int, high: int) -> int:
    return law.integer_words(low, high)


@op(accepts=INTEGRAL, draws=_integer_words, **MADE)
def random_integers(
    shape: Shape, low: Scalar, high: Scalar, seed: Scalar, offset: Scalar, kind: Kind
) -> Tensor:
    """Integers in [low, high), each equally likely (Lemire 2019, arXiv:1805.10941).

    Without a kernel, ranges that are no power of two ask once or more whether an
    element was rejected, which waits for the device.
    """
    first, count = whole(low), math.prod(tuple(shape))
    span = whole(high) - first
    attempt = _attempt(count, span, whole(seed), whole(offset), kind)
    y, bad = attempt(0)
    stream = 0
    while bad is not None and count and _any(bad):
        stream += 1
        again, worse = attempt(stream)
        assert worse is not None
        y, bad = where(bad, again, y), bitwise_and(bad, worse)
    made: Tensor = cast(y + first, kind.dtype)
    return reshape(made, tuple(shape))


def _any(mask: Tensor) -> bool:
    """Whether any element is true; waits for it."""
    found = amax(mask)
    return bool(found._kind.backend.copy_out(found._a))


Attempt = Callable[[int], tuple[Tensor, "Tensor | None"]]


def _attempt(count: int, span: int, seed: int, offset: int, kind: Kind) -> Attempt:
    """Numbers below `span` from one stream, and which of them are to be drawn again."""
    each = law.integer_words(0, span)
    limit = (1 << 32 * each) % span

    def attempt(stream: int) -> tuple[Tensor, Tensor | None]:
        words = random_words(count * each, seed, offset, stream, kind.with_dtype(int32))
        if each == 2:
            words = _as_long(words)
        bits = 32 * each
        upper = words if span == 1 << bits else philox.upper_product(words, span)
        bad = philox.below(words * span, limit) if limit else None
        return _roomy(upper, kind.dtype), bad

    return attempt


def _as_long(words: Tensor) -> Tensor:
    low, high = (cast(w, int64) for w in philox.lanes_of(words, 2))
    return shift_left(high, 32) + bitwise_and(low, LOW32)


def _roomy(y: Tensor, dtype: DType) -> Tensor:
    """Numbers in int32 where the result wraps or fits there, else in int64."""
    if y._kind.dtype is int64 or dtype is int32 or dtype.itemsize < 4:
        return y
    return bitwise_and(cast(y, int64), LOW32)


@op(accepts=INTEGRAL, draws=2, **{**MADE, "shape": lambda *, n, **_: (n,)})
def random_permutation(n: int, seed: Scalar, offset: Scalar, kind: Kind) -> Tensor:
    """0 … n-1 in the order of their random 64-bit words."""
    words = bitwise_xor(_words(2 * n, seed, offset, kind), law.SIGN)
    low, high = philox.lanes_of(words, 2)
    by_low = argsort(low, 0)
    order = take_along(by_low, argsort(take_along(high, by_low, 0), 0), 0)
    return cast(order, kind.dtype)
