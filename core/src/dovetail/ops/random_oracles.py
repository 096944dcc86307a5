"""Oracles of the random ops: the law in plain Python, one element after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import DType, bfloat16, float16, float32, float64
from dovetail.engine.cases import Case, Sampler, case
from dovetail.engine.exact import exact
from dovetail.ops import philox
from dovetail.ops import random as r

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]
_SEED = 0x9E3779B97F4A7C15
_BITS = {float16: 11, bfloat16: 8, float32: 24, float64: 53}


@philox.random_words.oracle
def _(n: int, seed: int, offset: int, stream: int) -> Array:
    words = philox.words_in_python(n, seed, offset, stream)
    return np.array(words, np.uint32).view(np.int32)


@philox.random_words.cases
def _(make: Sampler) -> Iterator[Case]:
    yield case(n=0, seed=1, offset=2, stream=0)
    yield case(n=9, seed=_SEED, offset=3, stream=0)
    yield case(n=64, seed=1, offset=4 * (2**32 - 5) + 1, stream=2)


def _longs(n: int, seed: int, offset: int, stream: int = 0) -> list[int]:
    words = philox.words_in_python(2 * n, seed, offset, stream)
    return [words[2 * i] + (words[2 * i + 1] << 32) for i in range(n)]


def _fractions(n: int, seed: int, offset: int, dtype: DType) -> Array:
    """Uniform numbers in [0, 1), exactly."""
    bits = _BITS[dtype]
    if dtype is float64:
        return np.array([w >> 11 for w in _longs(n, seed, offset)]) * 2.0**-53
    words = philox.words_in_python(n, seed, offset)
    return np.array([w >> (32 - bits) for w in words], np.float64) * 2.0**-bits


def _positive(n: int, seed: int, offset: int, dtype: DType) -> Array:
    """Uniform numbers in (0, 1], of whose logarithms the others are made."""
    if dtype is float64:
        return _fractions(n, seed, offset, dtype) + 2.0**-53
    words = np.array(philox.words_in_python(n, seed, offset), np.float64)
    return words.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)


@r.uniform.oracle
def _(
    shape: Sizes, low: float, high: float, seed: int, offset: int, kind: DType
) -> Array:
    unit = _fractions(math.prod(shape), seed, offset, kind)
    return (low + (high - low) * unit).reshape(shape)


@r.normal.oracle
def _(
    shape: Sizes, mean: float, std: float, seed: int, offset: int, kind: DType
) -> Array:
    each = 2 if kind is float64 else 1
    first = offset // each
    found = [_normal(first + i, seed, kind) for i in range(math.prod(shape))]
    return np.array(found, np.float64).reshape(shape) * std + mean


def _normal(element: int, seed: int, kind: DType) -> float:
    """The normal number of one element, from its pair's words."""
    each = 2 if kind is float64 else 1
    place = (element - element % 2) * each
    u = float(_positive(1, seed, place, kind)[0])
    if each == 2:
        turn = (_longs(1, seed, place + 2)[0] >> 11) / 2.0**53
    else:
        turn = philox.words_in_python(1, seed, place + 1)[0] / 2.0**32
    wave = math.sin if element % 2 else math.cos
    return math.sqrt(-2 * math.log(u)) * wave(2 * math.pi * turn)


@r.exponential.oracle
def _(shape: Sizes, rate: float, seed: int, offset: int, kind: DType) -> Array:
    u = _positive(math.prod(shape), seed, offset, kind).astype(np.float64)
    y: Array = -exact("log")(u) / rate
    return y.reshape(shape)


@r.random_mask.oracle
def _(shape: Sizes, p: float, seed: int, offset: int) -> Array:
    limit = round(p * 2**32)
    words = philox.words_in_python(math.prod(shape), seed, offset)
    return np.array([w < limit for w in words], bool).reshape(shape)


@r.random_trials.oracle
def _(p: Array, seed: int, offset: int, kind: DType) -> Array:
    dtype = float64 if kind is float64 else float32
    units = _fractions(p.size, seed, offset, dtype).reshape(p.shape)
    return (units < p).astype(np.float64)


@r.random_trials.cases
def _(make: Sampler) -> Iterator[Case]:
    yield case(make(0, 3, low=0, high=1), 1, 6)
    yield case(make(low=0, high=1), 1, 2)
    for offset in _PLACES:
        yield case(make(3, 7, low=0, high=1), _SEED, offset)


@r.random_dropout.oracle
def _(x: Array, p: float, seed: int, offset: int) -> Array:
    limit = round((1 - p) * 2**32)
    words = philox.words_in_python(x.size, seed, offset)
    kept = np.array([w < limit for w in words], bool).reshape(x.shape)
    return x * (kept / (1 - p) if p < 1 else 0.0)  # a product: NaN stays


@r.random_integers.oracle
def _(shape: Sizes, low: int, high: int, seed: int, offset: int, kind: DType) -> Array:
    span, count = high - low, math.prod(shape)
    bits = 32 if span <= 1 << 32 else 64
    found = [low + _integer(i, span, bits, seed, offset) for i in range(count)]
    return np.array(found, object).astype(kind.numpy).reshape(shape)


def _integer(i: int, span: int, bits: int, seed: int, offset: int) -> int:
    """The number of one element below `span`: the first stream that is not rejected."""
    for stream in itertools.count():
        if bits == 32:
            word = philox.words_in_python(1, seed, offset + i, stream)[0]
        else:
            word = _longs(1, seed, offset + 2 * i, stream)[0]
        product = word * span
        if product % (1 << bits) >= (1 << bits) % span:
            return product >> bits
    raise AssertionError("unreachable")


@r.random_permutation.oracle
def _(n: int, seed: int, offset: int) -> Array:
    keys = _longs(n, seed, offset)
    return np.array(sorted(range(n), key=lambda i: (keys[i], i)), np.int64)


# ---- cases: empty, odd, 0-d, places within a block and across 2^32 blocks

_PLACES = (0, 6, 8 * (2**32 - 1) + 2)


def _float_cases(a: float, b: float) -> Any:
    def cases(make: Sampler) -> Iterator[Case]:
        yield case((0, 3), a, b, 1, 6)
        yield case((), a, b, _SEED, 2)
        for offset in _PLACES:
            yield case((3, 7), a, b, _SEED, offset)
        yield case((5,), 2.5, 3.0, 1, 4)

    return cases


r.uniform.cases(_float_cases(0, 1))
r.normal.cases(_float_cases(0, 1))


@r.exponential.cases
def _(make: Sampler) -> Iterator[Case]:
    yield case((0,), 1.0, 1, 6)
    for offset in _PLACES:
        yield case((3, 7), 2.5, _SEED, offset)


@r.random_mask.cases
def _(make: Sampler) -> Iterator[Case]:
    yield case((0, 3), 0.5, 1, 3)
    for p, offset in zip((0.0, 0.3, 0.5, 1.0), (1, *_PLACES), strict=True):
        yield case((3, 7), p, _SEED, offset)


@r.random_dropout.cases
def _(make: Sampler) -> Iterator[Case]:
    yield case(make(0, 3), 0.5, 1, 3)
    yield case(make(), 0.4, 1, 3)
    for p, offset in zip((0.0, 0.3, 0.5, 1.0), (1, *_PLACES), strict=True):
        yield case(make(3, 7), p, _SEED, offset)


@r.random_integers.cases
def _(make: Sampler) -> Iterator[Case]:
    dtype = make.dtype
    bits = dtype.itemsize * 8
    low = -(1 << (bits - 1)) if dtype.is_signed else 0
    yield case((0,), 0, 10, 1, 3)
    yield case((3, 7), 0, 10, _SEED, 5)
    yield case((3, 7), low, low + (1 << bits), _SEED, 6)
    yield case((9,), low, low + (1 << bits - 1) + 1, _SEED, 8 * (2**32 - 1) + 2)
    yield case((), 3, 4, 1, 1)


@r.random_permutation.cases
def _(make: Sampler) -> Iterator[Case]:
    for n in (0, 1, 2, 33):
        yield case(n, _SEED, 2)
