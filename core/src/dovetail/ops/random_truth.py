"""The truth about random numbers: what ops and devices are judged by.

Written from Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), and
from the law in `dovetail.ops.philox`; shares no code with what it judges. Functions of
real numbers are taken in `longdouble`, by other code than the kernels'.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.dtypes import Array, DType, bfloat16, float16, float32, float64

_WORD: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)
_TURN: Final = 2 * np.longdouble("3.14159265358979323846264338327950288")
_BITS: Final = {float16: 11, bfloat16: 8, float32: 24, float64: 53}


def blocks(counters: Array, key: tuple[int, int]) -> Array:
    """Philox4x32-10 of [n, 4] counters: [n, 4] words, all as uint64."""
    c0, c1, c2, c3 = (counters[:, i].astype(np.uint64) for i in range(4))
    k0, k1 = key
    for _ in range(10):
        left, right = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0 = (right >> _HALF) ^ c1 ^ np.uint64(k0)
        c2 = (left >> _HALF) ^ c3 ^ np.uint64(k1)
        c1, c3 = right & _WORD, left & _WORD
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return np.stack([c0, c1, c2, c3], axis=1)


def words(n: int, seed: int, offset: int, stream: int = 0) -> Array:
    """Words `offset … offset + n - 1` of a seed's stream, as uint64 below 2^32."""
    first, last = offset // 4, (offset + n + 3) // 4
    numbers = np.arange(last - first, dtype=np.uint64) + np.uint64(first)
    counters = np.empty((last - first, 4), np.uint64)
    counters[:, 0], counters[:, 1] = numbers & _WORD, numbers >> _HALF
    counters[:, 2], counters[:, 3] = stream % 2**32, stream >> 32
    found = blocks(counters, (seed % 2**32, seed >> 32)).reshape(-1)
    chosen: Array = found[offset % 4 : offset % 4 + n]
    return chosen


def longs(n: int, seed: int, offset: int, stream: int = 0) -> Array:
    """Numbers of 64 bits, each made of two words, the lower half first."""
    pairs = words(2 * n, seed, offset, stream).reshape(-1, 2)
    made: Array = pairs[:, 0] | pairs[:, 1] << _HALF
    return made


def uniform(n: int, seed: int, offset: int, dtype: DType) -> Array:
    """Uniform floats in [0, 1), exactly, as float64."""
    bits = _BITS[dtype]
    if dtype is float64:
        return (longs(n, seed, offset) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    upper = words(n, seed, offset) >> np.uint64(32 - bits)
    return upper.astype(np.float64) * 2.0**-bits


def positive(n: int, seed: int, offset: int, dtype: DType) -> Array:
    """Uniform floats in (0, 1], of which logarithms are taken, as float64."""
    if dtype is float64:
        return uniform(n, seed, offset, dtype) + 2.0**-53
    rounded = words(n, seed, offset).astype(np.float32) * np.float32(2.0**-32)
    return (rounded + np.float32(2.0**-33)).astype(np.float64)


def normal(n: int, seed: int, offset: int, dtype: DType) -> tuple[Array, Array]:
    """Normal floats as float64, and the radius of each one's pair."""
    each = 2 if dtype is float64 else 1
    first = offset // each
    elements = np.arange(first, first + n)
    low = first - first % 2
    pairs = (n + first % 2 + 1) // 2
    place = offset - first % 2 * each
    total = 2 * pairs
    u = positive(total, seed, place, dtype)[::2]
    if dtype is float64:
        turn = longs(total, seed, place)[1::2] >> np.uint64(11) << np.uint64(11)
    else:
        turn = words(total, seed, place)[1::2] << _HALF
    pair = elements // 2 - low // 2
    radius = np.sqrt(-2 * np.log(u.astype(np.longdouble)))[pair]
    cosine, sine = _on_the_circle(turn)
    chosen = np.where(elements % 2 == 0, cosine[pair], sine[pair])
    return (radius * chosen).astype(np.float64), radius.astype(np.float64)


def _on_the_circle(turn: Array) -> tuple[Array, Array]:
    """Cosine and sine of a part of 2^64 of a turn, from the nearest quarter."""
    quarter = (turn + np.uint64(1 << 61)) >> np.uint64(62)  # wraps into 0
    rest = (turn - (quarter << np.uint64(62))).view(np.int64)
    angle = rest.astype(np.longdouble) * (_TURN * 2.0**-64)
    c, s = np.cos(angle), np.sin(angle)
    turned = ((c, s), (-s, c), (-c, -s), (s, -c))
    cosine, sine = (
        np.choose(quarter.astype(np.intp), [t[i] for t in turned]) for i in (0, 1)
    )
    return cosine, sine


def exponential(n: int, seed: int, offset: int, dtype: DType) -> Array:
    """Exponential floats of rate 1 as float64; never 0."""
    least = 2.0**-54 if dtype is float64 else 2.0**-26
    u = positive(n, seed, offset, dtype).astype(np.longdouble)
    return np.maximum(-np.log(u), least).astype(np.float64)


def mask(n: int, p: float, seed: int, offset: int) -> Array:
    """True with probability `p`."""
    return words(n, seed, offset) < np.uint64(round(p * 2**32))


def integers(n: int, low: int, high: int, seed: int, offset: int) -> Array:
    """Whole numbers in [low, high) as objects, rejected ones drawn again."""
    span = high - low
    scaled = _scaled_words if span <= 1 << 32 else _scaled_longs
    upper, rejected = scaled(n, span, seed, offset, 0)
    stream = 0
    while rejected.any():
        stream += 1
        again, still = scaled(n, span, seed, offset, stream)
        upper = np.where(rejected, again, upper)
        rejected &= still
    found: Array = upper.astype(object) + low
    return found


def _scaled_words(
    n: int, span: int, seed: int, offset: int, stream: int
) -> tuple[Array, Array]:
    """The upper half of each word times the span, and whether it is rejected."""
    products = words(n, seed, offset, stream) * np.uint64(span)
    return products >> _HALF, (products & _WORD) < np.uint64((1 << 32) % span)


def _scaled_longs(
    n: int, span: int, seed: int, offset: int, stream: int
) -> tuple[Array, Array]:
    """The same of numbers of 64 bits."""
    products = longs(n, seed, offset, stream).astype(object) * span
    limit = (1 << 64) % span
    rejected = np.array([p % (1 << 64) < limit for p in products], bool)
    return products >> 64, rejected


def permutation(n: int, seed: int, offset: int) -> Array:
    """0 … n-1 in the order of their random numbers, equal ones by index."""
    return np.argsort(longs(n, seed, offset), kind="stable")
