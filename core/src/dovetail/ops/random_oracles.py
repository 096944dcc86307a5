"""Oracles and cases of the random ops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import Array, DType, Sizes, float32, float64
from dovetail.engine.cases import Case, Sampler, case
from dovetail.ops import philox
from dovetail.ops import random as r
from dovetail.ops import random_truth as truth

_SEED = 0x9E3779B97F4A7C15


@philox.random_words.oracle
def _(n: int, seed: int, offset: int, stream: int) -> Array:
    return truth.words(n, seed, offset, stream).astype(np.uint32).view(np.int32)


@philox.random_words.cases
def _(make: Sampler) -> Iterator[Case]:
    yield case(n=0, seed=1, offset=2, stream=0)
    yield case(n=9, seed=_SEED, offset=3, stream=0)
    yield case(n=64, seed=1, offset=4 * (2**32 - 5) + 1, stream=2)


@r.uniform.oracle
def _(
    shape: Sizes, low: float, high: float, seed: int, offset: int, kind: DType
) -> Array:
    unit = truth.uniform(math.prod(shape), seed, offset, kind)
    return (low + (high - low) * unit).reshape(shape)


@r.normal.oracle
def _(
    shape: Sizes, mean: float, std: float, seed: int, offset: int, kind: DType
) -> Array:
    found, _ = truth.normal(math.prod(shape), seed, offset, kind)
    return found.reshape(shape) * std + mean


@r.exponential.oracle
def _(shape: Sizes, rate: float, seed: int, offset: int, kind: DType) -> Array:
    found = truth.exponential(math.prod(shape), seed, offset, kind)
    return found.reshape(shape) / rate


@r.random_mask.oracle
def _(shape: Sizes, p: float, seed: int, offset: int) -> Array:
    return truth.mask(math.prod(shape), p, seed, offset).reshape(shape)


@r.random_trials.oracle
def _(p: Array, seed: int, offset: int, kind: DType) -> Array:
    dtype = float64 if kind is float64 else float32
    units = truth.uniform(p.size, seed, offset, dtype).reshape(p.shape)
    return (units < p).astype(np.float64)


@r.random_trials.cases
def _(make: Sampler) -> Iterator[Case]:
    yield case(make(0, 3, low=0, high=1), 1, 6)
    yield case(make(low=0, high=1), 1, 2)
    for offset in _PLACES:
        yield case(make(3, 7, low=0, high=1), _SEED, offset)


@r.random_dropout.oracle
def _(x: Array, p: float, seed: int, offset: int) -> Array:
    kept = truth.mask(x.size, 1 - p, seed, offset).reshape(x.shape)
    return x * (kept / (1 - p) if p < 1 else 0.0)  # a product: NaN stays


@r.random_integers.oracle
def _(shape: Sizes, low: int, high: int, seed: int, offset: int, kind: DType) -> Array:
    found = truth.integers(math.prod(shape), low, high, seed, offset)
    return found.astype(kind.numpy).reshape(shape)


@r.random_permutation.oracle
def _(n: int, seed: int, offset: int) -> Array:
    return truth.permutation(n, seed, offset)


# Cases: empty, odd, 0-d, places within a block and across 2^32 blocks.
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
