"""Large random arrays by generated kernels, in front of NumPy's for small ones.

Both follow the law in `dovetail.ops.philox`, bit for bit: normal numbers, too, which
are computed in the same steps, each rounded by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np

from dovetail.device_api import Kernel
from dovetail.dtypes import (
    ANY,
    HALF,
    DType,
    float32,
    float64,
    from_numpy,
    int32,
    int64,
)
from dovetail.xp import random_law as law
from dovetail.xp.random import by_whole_keys, order_of_few
from dovetail_cpu.patience import Patience

LEAST: Final = 1 << 11
"""Elements from which on a kernel saves more than NumPy's calls for ten rounds cost.

That is with what it takes to load one: one that the process has draws any number of
elements in 10 to 20 µs, of which NumPy's calls take 50 to 120.
"""

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

_FLOATS: Final = frozenset({float32, float64}) | HALF
_INTEGERS: Final = frozenset({int32, int64})
_RARE: Final = 1 << 16  # of 2^32 words, that integers may reject


Small = Callable[..., Any]


@cache
def _drawing() -> Any:
    """What draws, with LLVM's text. An import takes longer than to ask this."""
    from dovetail.codegen import eager_random

    return eager_random


class _Loaded:
    """The kernels of an op that the process has, by what each was made for."""

    def __init__(self, least: int) -> None:
        self.least = least
        self.made: set[Any] = set()
        self.waiting: dict[Any, Patience] = {}

    def serves(self, count: int, *made_for: Any) -> bool:
        """Whether to draw so many elements by a kernel, which is loaded then."""
        if made_for in self.made:
            return True
        if count < self.least:
            waiting = self.waiting.setdefault(made_for, Patience())
            if not waiting.ends():
                return False
        self.made.add(made_for)
        return True


def _words(small: Small, least: int) -> Small:
    def random_words(
        *, n: int, seed: int, offset: int, stream: int, **place: Any
    ) -> Any:
        if n < least or stream:
            return small(n=n, seed=seed, offset=offset, stream=stream, **place)
        return _drawing().words(n, seed, offset)

    return random_words


def _uniform(small: Small, least: int) -> Small:
    loaded = _Loaded(least)

    def uniform(
        *, shape: Shape, dtype: DType, low: float, high: float, seed: int, offset: int,
        index: int,
    ) -> Any:  # fmt: skip
        plain = (low, high) == (0, 1)
        between = offset % law.words_each(dtype)  # in the midst of an element
        if between or not loaded.serves(math.prod(shape), dtype, plain):
            return small(
                shape=shape, dtype=dtype, low=low, high=high, seed=seed, offset=offset,
                index=index,
            )  # fmt: skip
        scaled = None
        if not plain:
            scaled = high - low, low, law.greatest_below(low, high, dtype)
        return _drawing().uniform(shape, dtype.numpy, seed, offset, scaled)

    return uniform


def _normal(small: Small, least: int) -> Small:
    loaded = _Loaded(least)

    def normal(
        *, shape: Shape, dtype: DType, mean: float, std: float, seed: int, offset: int,
        index: int,
    ) -> Any:  # fmt: skip
        plain = (mean, std) == (0, 1)
        between = offset % law.words_each(dtype)  # in the midst of an element
        if between or not loaded.serves(math.prod(shape), dtype, plain):
            return small(
                shape=shape, dtype=dtype, mean=mean, std=std, seed=seed, offset=offset,
                index=index,
            )  # fmt: skip
        scaled = None if plain else (std, mean)
        return _drawing().normal(shape, dtype.numpy, seed, offset, scaled)

    return normal


def _exponential(small: Small, least: int) -> Small:
    loaded = _Loaded(least)

    def exponential(
        *, shape: Shape, dtype: DType, rate: float, seed: int, offset: int, index: int
    ) -> Any:
        between = offset % law.words_each(dtype)  # in the midst of an element
        if between or not loaded.serves(math.prod(shape), dtype):
            return small(
                shape=shape, dtype=dtype, rate=rate, seed=seed, offset=offset,
                index=index,
            )  # fmt: skip
        return _drawing().exponential(shape, dtype.numpy, seed, offset, 1 / rate)

    return exponential


def _mask(small: Small, least: int) -> Small:
    loaded = _Loaded(least)

    def random_mask(
        *, shape: Shape, p: float, seed: int, offset: int, **place: Any
    ) -> Any:
        limit = law.threshold(p)
        if limit in (0, 1 << 32) or not loaded.serves(math.prod(shape)):
            return small(shape=shape, p=p, seed=seed, offset=offset, **place)
        return _drawing().mask(shape, limit, seed, offset)

    return random_mask


def _dropout(small: Small, least: int) -> Small:
    loaded = _Loaded(least)

    def random_dropout(x: Array, *, p: float, seed: int, offset: int) -> Any:
        limit = law.threshold(1 - p)
        some = x.flags.c_contiguous and limit not in (0, 1 << 32)
        if not some or not loaded.serves(x.size, x.dtype):
            return small(x, p=p, seed=seed, offset=offset)
        return _drawing().dropout(x, limit, law.kept_scale(p), seed, offset)

    return random_dropout


def _trials(small: Small, least: int) -> Small:
    loaded = _Loaded(least)

    def random_trials(p: Array, *, seed: int, offset: int) -> Any:
        between = offset % law.words_each(from_numpy(p.dtype))
        some = p.size and p.flags.c_contiguous and not between
        if not some or not loaded.serves(p.size, p.dtype):
            return small(p, seed=seed, offset=offset)
        return _drawing().trials(p, seed, offset)

    return random_trials


def _integers(small: Small, least: int) -> Small:
    loaded = _Loaded(least)

    def random_integers(
        *, shape: Shape, dtype: DType, low: int, high: int, seed: int, offset: int,
        index: int,
    ) -> Any:  # fmt: skip
        low, high = int(low), int(high)
        span = high - low
        rejected = (1 << 32) % span
        count = math.prod(shape)
        some = count and span <= 1 << 32 and rejected <= _RARE
        if not some or not loaded.serves(count, dtype):
            return small(
                shape=shape, dtype=dtype, low=low, high=high, seed=seed, offset=offset,
                index=index,
            )  # fmt: skip
        y, again = _drawing().integers(shape, dtype.numpy, low, span, seed, offset)
        flat = y.reshape(-1)
        for part in again:
            flat[part] = small(
                shape=(part.stop - part.start,), dtype=dtype, low=low, high=high,
                seed=seed, offset=offset + part.start, index=index,
            )  # fmt: skip
        return y

    return random_integers


def _permutation(small: Small, least: int) -> Small:
    loaded = _Loaded(least)

    def random_permutation(*, n: int, seed: int, offset: int, **place: Any) -> Any:
        if not loaded.serves(n):
            return small(n=n, seed=seed, offset=offset, **place)
        keys = _drawing().words(2 * n, seed, offset).view(np.uint64)
        if n < least:
            return order_of_few(np, keys)
        from dovetail.codegen import eager_sort

        upper = keys.view(np.uint32)[1::2].reshape(1, n).copy()
        _, order = eager_sort.sorted_rows(upper, "uint32", False, False)
        return by_whole_keys(np, keys, order[0])

    return random_permutation


DRAWS: Final[dict[str, tuple[Callable[[Small, int], Small], frozenset[DType]]]] = {
    "random_words": (_words, ANY), "uniform": (_uniform, _FLOATS),
    "normal": (_normal, _FLOATS), "exponential": (_exponential, _FLOATS),
    "random_mask": (_mask, ANY),
    "random_dropout": (_dropout, _FLOATS), "random_trials": (_trials, _FLOATS),
    "random_integers": (_integers, _INTEGERS),
    "random_permutation": (_permutation, frozenset({int64})),
}  # fmt: skip
"""Ops that draw: what serves them at any size, and the dtypes in which it does."""


def bind(own: Kernel, least: int) -> tuple[Callable[..., Any], frozenset[DType]]:
    """What binds attributes to the kernel of such an op, and its dtypes."""
    make, dtypes = DRAWS[own.op]
    kernel = make(own.function, min(least, LEAST))

    def bound(**attributes: Any) -> Any:
        return partial(kernel, **attributes)

    return bound, dtypes
