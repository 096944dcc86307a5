"""Random numbers by the law in `dovetail.ops.philox`, a cache block at a time."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.codegen.philox import LOW32
from dovetail.dtypes import ANY, FLOAT, INTEGRAL, DType, Sizes
from dovetail.xp import random_law as law
from dovetail.xp.kernels import Kernels, on_device
from dovetail.xp.orders import laid_like
from dovetail.xp.philox import Philox, chunks, pairs

kernels: Final = Kernels()
install = kernels.install


@kernels("random_words", ANY, checks=True)
def _random_words(
    xp: Any, n: int, dtype: DType, index: int, seed: int, offset: int, stream: int
) -> Any:
    y = xp.empty((n,), "uint32")
    for start, words in chunks(xp, n, seed, offset, stream):
        y[start : start + len(words)] = words
    return y.view("int32")


@kernels("uniform", FLOAT, checks=True)
def _uniform(
    xp: Any, shape: tuple[int, ...], dtype: DType, index: int, low: float, high: float,
    seed: int, offset: int,
) -> Any:  # fmt: skip
    each = law.words_each(dtype)
    wide = "float64" if each == 2 else "float32"
    y = xp.empty(shape, wide)
    flat = y.reshape(-1)
    bits = law.UNIT_BITS[dtype]
    scaled = (low, high) != (0, 1)
    greatest = law.greatest_below(low, high, dtype) if scaled else 1.0
    for start, words in chunks(xp, flat.size * each, seed, offset):
        part = flat[start // each : (start + len(words)) // each]
        _fractions(xp, words, bits, part)
        if scaled:
            part *= high - low
            part += low
            xp.minimum(part, greatest, out=part)
    return y.astype(dtype.numpy, copy=False)


def _fractions(xp: Any, words: Any, bits: int, out: Any) -> None:
    """The upper bits of words, or of pairs of them, as fractions."""
    if bits > 32:
        long = pairs(xp, words) >> xp.uint64(64 - bits)
        xp.multiply(long.view("int64"), 2.0**-bits, out=out)
        return
    words >>= xp.uint32(32 - bits)
    out[...] = words.view("int32")
    out *= 2.0**-bits


@kernels("normal", FLOAT, checks=True)
def _normal(
    xp: Any, shape: tuple[int, ...], dtype: DType, index: int, mean: float, std: float,
    seed: int, offset: int,
) -> Any:  # fmt: skip
    from dovetail.xp.polar import double, single  # the forms of kernels, 5 ms

    each = law.words_each(dtype)
    count = math.prod(shape)
    skip = offset // each % 2
    pairs = -(-(skip + count) // 2)
    y = xp.empty((pairs, 2), "float64" if each == 2 else "float32")
    polar = double if each == 2 else single
    begin = offset - skip * each
    for start, words in chunks(xp, pairs * 2 * each, seed, begin):
        first = start // (2 * each)
        part = y[first : first + len(words) // (2 * each)]
        radius, cosine, sine = polar(xp, words)
        xp.multiply(radius, cosine, out=part[:, 0])
        xp.multiply(radius, sine, out=part[:, 1])
        if (mean, std) != (0, 1):
            part *= std
            part += mean
    y = y.reshape(-1)[skip : skip + count]
    if skip or y.base.size != count:
        y = y.copy()
    return y.astype(dtype.numpy, copy=False).reshape(shape)


@kernels("exponential", FLOAT, checks=True)
def _exponential(
    xp: Any, shape: tuple[int, ...], dtype: DType, index: int, rate: float, seed: int,
    offset: int,
) -> Any:  # fmt: skip
    from dovetail.xp.polar import waits  # the forms of kernels, 5 ms

    each = law.words_each(dtype)
    y = xp.empty(shape, "float64" if each == 2 else "float32")
    flat = y.reshape(-1)
    for start, words in chunks(xp, flat.size * each, seed, offset):
        part = flat[start // each : (start + len(words)) // each]
        xp.multiply(waits(xp, words, each), 1 / rate, out=part)
    return y.astype(dtype.numpy, copy=False)


@kernels("random_mask", ANY, checks=True)
def _random_mask(
    xp: Any, shape: Sizes, dtype: DType, index: int, p: float, seed: int, offset: int
) -> Any:
    return _mask(xp, shape, p, seed, offset)


def _mask(xp: Any, shape: tuple[int, ...], p: float, seed: int, offset: int) -> Any:
    limit = law.threshold(p)
    if limit in (0, 1 << 32):
        return xp.full(shape, limit > 0)
    y = xp.empty(shape, "bool")
    flat = y.reshape(-1)
    for start, words in chunks(xp, flat.size, seed, offset):
        xp.less(words, xp.uint32(limit), out=flat[start : start + len(words)])
    return y


@kernels("random_dropout", FLOAT, checks=True)
def _dropout(xp: Any, x: Any, p: float, seed: int, offset: int) -> tuple[Any, Any]:
    mask = laid_like(xp, x, _mask(xp, x.shape, 1 - p, seed, offset))
    return _masked_scale(xp, x, mask, law.kept_scale(p)), mask


@kernels("masked_scale", FLOAT, broadcasts=True)
def _masked_scale(xp: Any, x: Any, mask: Any, scale: float) -> Any:
    if x.dtype.itemsize == 2:  # rounded once
        wide = xp.multiply(mask, scale, dtype="float32") * x.astype("float32")
        return wide.astype(x.dtype)
    scaled = xp.multiply(mask, scale, dtype=x.dtype)
    fits = x.ndim and x.shape == scaled.shape
    return xp.multiply(x, scaled, out=scaled if fits else None)


@kernels("random_trials", FLOAT, checks=True)
def _random_trials(xp: Any, p: Any, seed: int, offset: int) -> Any:
    bits, each, wide = (
        (53, 2, "float64") if p.dtype.itemsize == 8 else (24, 1, "float32")
    )
    draws = xp.empty(p.shape, wide)
    flat = draws.reshape(-1)
    for start, words in chunks(xp, flat.size * each, seed, offset):
        part = flat[start // each : (start + len(words)) // each]
        _fractions(xp, words, bits, part)
    return (draws < p).astype(p.dtype)


@kernels("random_integers", INTEGRAL, checks=True)
def _random_integers(
    xp: Any, shape: tuple[int, ...], dtype: DType, index: int, low: int, high: int,
    seed: int, offset: int,
) -> Any:  # fmt: skip
    each = law.integer_words(low, high)
    span = high - low
    y = xp.empty(shape, dtype.numpy)
    flat = y.reshape(-1)
    scale = _scale_long if each == 2 else _scale
    first = xp.array(low % (1 << 64), "uint64")
    for start, words in chunks(xp, flat.size * each, seed, offset):
        begin = start // each
        number, bad = scale(xp, words, span)
        _again(xp, number, bad, span, seed, offset + start, scale)
        if low:
            number += first
        flat[begin : begin + len(number)] = number
    return y


def _scale(xp: Any, words: Any, span: int) -> tuple[Any, Any]:
    """Words to numbers below `span`, and the places of the rejected."""
    product = words.astype("uint64")
    product *= xp.uint64(span)
    limit = (1 << 32) % span
    bad = None
    if limit:
        lower = product.astype("uint32")
        bad = xp.nonzero(lower < limit)[0] if lower.min() < limit else None
    product >>= xp.uint64(32)
    return product, bad


def _scale_long(xp: Any, words: Any, span: int) -> tuple[Any, Any]:
    """The same for pairs of words, the product in halves (Warren, 8-2)."""
    a = pairs(xp, words)
    if span == 1 << 64:
        return a.copy(), None
    half, low = xp.uint64(32), xp.uint64(LOW32)
    m0, m1 = xp.uint64(span & LOW32), xp.uint64(span >> 32)
    a0, a1 = a & low, a >> half
    t = a1 * m0 + (a0 * m0 >> half)
    u = a0 * m1 + (t & low)
    number = a1 * m1 + (t >> half) + (u >> half)
    limit = (1 << 64) % span
    bad = a * xp.uint64(span) < xp.uint64(limit) if limit else None
    return number, None if bad is None or not bad.any() else xp.nonzero(bad)[0]


def _again(
    xp: Any, number: Any, bad: Any, span: int, seed: int, offset: int, scale: Any
) -> None:
    """Draw rejected elements from the next streams until none is left."""
    stream, each = 0, law.integer_words(0, span)
    while bad is not None:
        stream += 1
        place = bad.astype("uint64") * xp.uint64(each) + xp.uint64(offset % (1 << 64))
        # The two words of a place may lie in two blocks.
        place = (place[:, None] + xp.arange(each).astype("uint64")).reshape(-1)
        words = Philox(xp, seed, stream, len(place)).at(place >> xp.uint64(2))
        at = (place & xp.uint64(3)).astype("int64")
        picked = words[xp.arange(len(place)) * 4 + at]
        found, worse = scale(xp, picked, span)
        number[bad] = found
        bad = None if worse is None else bad[worse]


@kernels("random_permutation", INTEGRAL, checks=True)
def _random_permutation(
    xp: Any, n: int, dtype: DType, index: int, seed: int, offset: int
) -> Any:
    words = xp.empty((2 * n,), "uint32")
    for start, piece in chunks(xp, 2 * n, seed, offset):
        words[start : start + len(piece)] = piece
    keys = words.view("uint64")
    order = order_of_few(xp, keys) if n < RADIX else _radix_order(xp, keys)
    return order.astype(dtype.numpy, copy=False)


# From this many keys on, two passes of a radix sort are faster than comparing.
RADIX: Final = 1 << 13


def order_of_few(xp: Any, keys: Any) -> Any:
    """The order of 64-bit keys, of equal ones by their places."""
    if not on_device(xp):
        order = xp.argsort(keys)  # several times as fast, if none are equal
        lying = keys[order]
        if not (lying[1:] == lying[:-1]).any():
            return order
    return xp.argsort(keys, kind="stable")


def _radix_order(xp: Any, keys: Any) -> Any:
    """The order of 64-bit keys: by two stable passes over the upper half."""
    digits = keys.view("uint16").reshape(-1, 4)
    order = xp.argsort(digits[:, 2].copy(), kind="stable")
    return by_whole_keys(xp, keys, order[xp.argsort(digits[order, 3], kind="stable")])


def by_whole_keys(xp: Any, keys: Any, order: Any) -> Any:
    """A stable order of the upper halves of 64-bit keys, made one of the keys."""
    upper = keys.view("uint32")[1::2][order]
    same = upper[1:] == upper[:-1]
    if same.any():
        tied = xp.zeros(len(keys), "bool")
        tied[1:] |= same
        tied[:-1] |= same
        # In order of index within equal upper halves; a stable sort keeps that.
        places = order[tied]
        order[tied] = places[xp.argsort(keys[places], kind="stable")]
    return order
