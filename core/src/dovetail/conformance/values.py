"""Classes of values: what a kernel has to get right beside ordinary numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.dtypes import Array, DType
from dovetail.engine.cases import Sampler
from dovetail.engine.op import Op

Generator = np.random.Generator

# The values that each class mixes into ordinary ones; floats only, but for extremes.
ORDINARY: Final = "ordinary"
SPECIAL: Final = "special"
_SPARSE: Final = 0.05  # the share of what is to stand out
MOST: Final = 1 << 20  # elements of one array
CLASSES: Final = (
    ORDINARY, SPECIAL, "subnormal", "extreme", "ties", "exact", "wide", "zeros", "nan",
)  # fmt: skip


def classes_for(dtype: DType) -> tuple[str, ...]:
    """The classes that mean something in a dtype."""
    if dtype.is_inexact:
        return CLASSES
    if dtype.category == 0:
        return (ORDINARY, "rare")
    return (ORDINARY, "extreme", "ties", "zeros")


def varied(ordinary: Array, name: str, random: Generator, dtype: DType) -> Array:
    """Values of the class, in the place of some or all of the ordinary ones."""
    if name == ORDINARY or not ordinary.size:
        return ordinary
    if dtype.is_complex:
        return _complex(ordinary, name, random, dtype)
    with np.errstate(all="ignore"):
        made = np.asarray(_MAKERS[name](ordinary, random, dtype))
        return made.astype(ordinary.dtype)


def _complex(a: Array, name: str, random: Generator, dtype: DType) -> Array:
    """Complex numbers vary by their parts, where that has a standard meaning."""
    if name in ("special", "subnormal", "extreme", "zeros"):
        # C99's annex G leaves much of this open, and libraries differ; parts that are
        # 0 lie on branch cuts, where the sign of the zero decides.
        return a
    if name == "nan":  # of both parts, so that nothing finite is made of it
        return _mixed(a, [complex(np.nan, np.nan)], random, _SPARSE)
    real = dtype.real
    parts = [
        varied(part.astype(real.numpy), name, random, real).astype(np.float64)
        for part in (a.real, a.imag)
    ]
    return np.asarray(parts[0] + 1j * parts[1]).astype(a.dtype)


def _mixed(a: Array, pool: list[Any], random: Generator, share: float = 0.5) -> Array:
    """`a` with some of its elements, one at least, replaced from the pool."""
    chosen = random.choice(np.asarray(pool, a.dtype), a.shape)
    where = np.asarray(random.random(a.shape) < share)
    where.flat[random.integers(a.size)] = True
    mixed: Array = np.where(where, chosen, a)
    return mixed


def _special(a: Array, random: Generator, dtype: DType) -> Array:
    return _mixed(a, [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], random)


def _nan(a: Array, random: Generator, dtype: DType) -> Array:
    """A few among ordinary numbers, and no infinities that make more of them."""
    return _mixed(a, [np.nan], random, _SPARSE)


def _zeros(a: Array, random: Generator, dtype: DType) -> Array:
    pool = [0.0, -0.0] if dtype.is_floating_point else [0]
    return _mixed(a, pool, random)


def _subnormal(a: Array, random: Generator, dtype: DType) -> Array:
    tiny = limits(dtype).smallest_subnormal
    return _mixed(a, [tiny, -tiny, 3 * tiny, 0.0], random)


def _extreme(a: Array, random: Generator, dtype: DType) -> Array:
    info = limits(dtype)
    pool = [info.max, info.min, info.max, 1]
    if dtype.category == 1:
        pool.append(info.max - 1)  # a wider format may take it for its neighbour
    if dtype.is_floating_point:
        pool += [info.smallest_normal, 1 + float(info.eps)]
    return _mixed(a, pool, random, 0.3)


def _ties(a: Array, random: Generator, dtype: DType) -> Array:
    """Two or three different values in all."""
    pool = a.reshape(-1)[:2]
    tied: Array = random.choice(pool, a.shape)
    return tied


def _rare(a: Array, random: Generator, dtype: DType) -> Array:
    """All the same but for one: the last, where tails are lost, or any."""
    made = np.full_like(a, random.random() < 0.5)
    made.flat[random.choice(np.array([-1, random.integers(a.size)]))] ^= True
    return made


def _exact(a: Array, random: Generator, dtype: DType) -> Array:
    """Small multiples of a quarter: sums and products are exact in every order."""
    quarters: Array = np.round(np.clip(a.astype(np.float64), -4, 4) * 4) / 4
    return np.where(quarters == 0, 0.25, quarters)


def _wide(a: Array, random: Generator, dtype: DType) -> Array:
    """Magnitudes over many powers of two."""
    reach = 6 if dtype.itemsize == 2 else 20
    spread: Array = a.astype(np.float64) * 2.0 ** random.integers(
        -reach, reach, a.shape
    )
    return spread


_MAKERS: Final[dict[str, Callable[[Array, Generator, DType], Array]]] = {
    "special": _special, "nan": _nan, "zeros": _zeros, "subnormal": _subnormal,
    "extreme": _extreme, "rare": _rare, "ties": _ties, "exact": _exact, "wide": _wide,
}  # fmt: skip


def limits(dtype: DType) -> Any:
    """NumPy's `finfo` or `iinfo` of a dtype, of ml_dtypes for bfloat16."""
    if dtype.category == 1:
        return np.iinfo(dtype.numpy)
    if dtype.name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    return np.finfo(dtype.numpy)


class Varied(Sampler):
    """Draws as `Sampler` does, of another class of values and of other sizes.

    Args:
        values: the class, for what the op leaves free.
        sizes: maps each size that a case names (2, 3, …) to the one to draw.
    """

    def __init__(
        self,
        op: Op,
        dtype: DType,
        values: str,
        sizes: Callable[[int], int],
        seed: int,
    ) -> None:
        super().__init__(op, dtype)
        self.random = np.random.default_rng(seed)
        self.values = values
        self.sizes = sizes
        # Whether a case asked for more than can be drawn, and got what it named.
        self.oversized = False

    def _shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        drawn = tuple(self.sizes(n) for n in shape)
        if math.prod(drawn) <= MOST:
            return drawn
        self.oversized = True
        return shape

    def __call__(
        self, *shape: int, low: float | None = None, high: float | None = None
    ) -> Array:
        made = super().__call__(*self._shape(shape), low=low, high=high)
        if low is not None or high is not None:
            return made  # the case says what it needs
        return varied(made, self.values, self.random, self.dtype)

    def distinct(self, *shape: int) -> Array:
        """Special values at most once each, so that all still differ."""
        made = super().distinct(*self._shape(shape))
        if self.values == "special" and self.dtype.is_floating_point and made.size > 3:
            places = self.random.choice(made.size, 3, replace=False)
            made.flat[places] = [np.nan, np.inf, -np.inf]
        return made

    def ints(
        self, *shape: int, low: int = 0, high: int = 10, dtype: str = "int64"
    ) -> Array:
        return super().ints(*self._shape(shape), low=low, high=high, dtype=dtype)

    def bools(self, *shape: int) -> Array:
        return super().bools(*self._shape(shape))

    def permutation(self, n: int) -> Array:
        return super().permutation(self.sizes(n))
