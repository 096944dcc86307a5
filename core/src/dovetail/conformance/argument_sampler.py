"""Arguments of calls, drawn as ops ask for them, of a class of values and of sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from functools import lru_cache
from itertools import count
from typing import Any, Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.options import Options
from dovetail.conformance.regions import regional, regions_filled
from dovetail.conformance.sizes import AS_NAMED, Sizing
from dovetail.conformance.subject import Subject
from dovetail.conformance.value_makers import pool
from dovetail.conformance.values import (
    BALANCED,
    EQUAL,
    MASKED,
    NOT_FINITE,
    ORDINARY,
    PAIRS,
    TABLE,
    varied,
)
from dovetail.dtypes import Array, DType, Sizes, bool_
from dovetail.engine.cases import Case, Sampler
from dovetail.engine.op import Op
from dovetail.engine.results import DATA

MOST: Final = 1 << 20  # elements of one array
_DIFFERENT: Final = 256  # values of a class, where all are to differ
_ENDS: Final = frozenset({"extreme", "wide", "lone", "few", "rare"})
_APART: Final = (NOT_FINITE - {PAIRS}) | {
    "subnormal",
    "extreme",
    "zeros",
    "great",
}  # stand out alone
# Of their calls, those with some arguments that stay ordinary, and those with such rows
# in every argument; the first where there are two at most, then where there are more.
_ALONE: Final = (0.25, 0.5)
_IN_TURN: Final = (0.5, 0.35)
_REPEATED: Final = frozenset({"ties", "flat", MASKED, EQUAL})
_SLICES: Final = frozenset({"flat", MASKED})


class _PassedBy(Sampler):
    """Draws for calls that nobody looks at: what is asked for again is not drawn again.

    Generators may write into what they are given, so each gets a copy.
    """

    def __init__(self, op: Op, dtype: DType) -> None:
        super().__init__(op, dtype, seed=0)
        self._known: dict[tuple[Any, ...], Array] = {}

    def _made(self, key: tuple[Any, ...], make: Callable[[], Array]) -> Array:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = make()
        return found.copy()

    def __call__(
        self, *shape: int, low: float | None = None, high: float | None = None
    ) -> Array:
        draw = super().__call__
        key = ("", shape, low, high, self.low, self.high)
        return self._made(key, lambda: draw(*shape, low=low, high=high))

    def distinct(self, *shape: int) -> Array:
        draw = super().distinct
        return self._made(("distinct", shape), lambda: draw(*shape))

    def ints(
        self, *shape: int, low: int = 0, high: int = 10, dtype: str = "int64"
    ) -> Array:
        draw = super().ints
        key = ("ints", shape, low, high, dtype)
        return self._made(key, lambda: draw(*shape, low=low, high=high, dtype=dtype))


_passed_by: Final = lru_cache(maxsize=8)(_PassedBy)


class _Turn:
    """Whose turn it is, for a sampler and its copies.

    Attributes:
        plain: what draws for a call that nobody looks at.
    """

    plain: Sampler | None = None


class Varied(Sampler):
    """Draws as `Sampler` does, of another class of values and of other sizes.

    Args:
        values: the class, for what the op leaves free.
        sizes: maps each size that a case names (2, 3, …) to the one to draw.

    Attributes:
        options: for one of the cases, instead of those that it declares.
        bounded: what cases want between two numbers, of what was drawn.
    """

    def __init__(
        self,
        op: Op,
        dtype: DType,
        values: str,
        sizes: Sizing,
        seed: int,
    ) -> None:
        super().__init__(op, dtype, seed)
        self.op = op
        self.values = values
        self.sizes = sizes
        self.options: Options | None = None
        # What a case asked for that cannot be drawn, and got as it is named.
        self.oversized: list[Sizes] = []
        self._free: list[Array] = []  # what a case leaves free
        self.bounded: list[Array] = []
        # Some arguments stay ordinary, or some rows of them, that none hides what is
        # alone in one.
        data = sum(p.name not in op.indices | op.masks for p in op.tensors)
        many = data > 2
        share = float(self.random.random()) if values in _APART else 1.0
        self._alone = share < _ALONE[many]
        self._in_turn = _ALONE[many] <= share < _ALONE[many] + _IN_TURN[many]
        self._numbers = count(int(self.random.integers(6)))  # of arguments
        # Of many, one may be all that is of the class: others would outweigh it.
        self._only = int(self.random.integers(data)) if many else None
        self._drawn = count()
        self._turn = _Turn()

    def turn_to(self, wanted: bool) -> None:
        """From here on a call is drawn that is wanted, or one that nobody looks at.

        Of the latter the arguments are as the case names them and are drawn apart, so
        that no call depends on what was drawn for those before it.
        """
        self._turn.plain = None if wanted else _passed_by(self.op, self.dtype)

    def _shape(self, shape: Sizes) -> Sizes:
        drawn = self.sizes.shape(shape)
        if math.prod(drawn) <= MOST:
            return drawn
        self.oversized.append(shape)
        return shape

    def exactly(
        self, shape: Sizes, low: float | None = None, high: float | None = None
    ) -> Array:
        if self._turn.plain is not None:
            return self._plainly(self._turn.plain, shape, low, high)
        if math.prod(shape) > MOST:
            self.oversized.append(shape)
            return np.broadcast_to(np.zeros((), self.dtype.numpy), shape)
        plain = copy(self)
        plain.sizes = AS_NAMED
        return plain(*shape, low=low, high=high)

    def crossed(self, op: Op, number: int, call: Case) -> Case:
        """The call with the options of a row, if it is the call that gets them.

        Raises:
            DovetailError: the op takes no such options.
        """
        if self.options is None or not self.options.go_to(op, number):
            return call
        made = self.options.applied(call)
        if op.shape is not DATA:
            Subject("meta").run(op, Example(made), self.dtype)
        return made

    def __call__(
        self, *shape: int, low: float | None = None, high: float | None = None
    ) -> Array:
        if self._turn.plain is not None:
            return self._plainly(self._turn.plain, shape, low, high)
        made = super().__call__(*self._shape(shape), low=low, high=high)
        if self._alone and self._stays_ordinary():
            return made
        if low is None and high is None:
            made = self._of_class(made)
            self._free.append(made)
            return made
        if self.dtype.is_complex:
            return made  # nothing lies between two complex numbers
        # The case says what it needs: of the class, that much of it.
        of_class = self._of_class(made)
        lo = self.low if low is None else low
        hi = self.high if high is None else high
        with np.errstate(all="ignore"):
            wide = of_class.astype(np.float64)
        made = np.where((wide >= lo) & (wide <= hi), of_class, made)
        self.bounded.append(made)
        return made

    def _plainly(
        self, plain: Sampler, shape: Sizes, low: float | None, high: float | None
    ) -> Array:
        plain.low, plain.high = self.low, self.high  # which are another op's at times
        return plain(*shape, low=low, high=high)

    def _stays_ordinary(self) -> bool:
        """Whether this argument does, in a call of which some are to."""
        if self._only is None:
            return bool(self.random.random() < 0.5)
        return next(self._drawn) != self._only

    def _of_class(self, a: Array) -> Array:
        """Values of the class, in some calls in two of three rows.

        Of any three rows there is one in which this argument is ordinary and the next
        one is not, one in which it is the other way round, and one of both.
        """
        made = varied(a, self.values, self.random, self.dtype)
        if not self._in_turn or not a.size:
            return made
        number = next(self._numbers)
        rows = a.reshape(-1, a.shape[-1] if a.ndim > 1 else 1)
        if len(rows) < 3:
            return a if number % 2 else made
        ordinary = (np.arange(len(rows))[:, None] + number // 2) % 3 == number % 2
        mixed = np.where(ordinary, rows, made.reshape(rows.shape))
        return mixed.reshape(a.shape)

    def distinct(self, *shape: int) -> Array:
        """Values of the class at most once each, so that all still differ."""
        if self._turn.plain is not None:
            return self._turn.plain.distinct(*shape)
        made = super().distinct(*self._shape(shape))
        if self.values == ORDINARY or made.size < 2:
            return made
        flat = made.reshape(-1)
        if self.values == "shifted":
            return _far_from_zero(made)
        some = flat[:_DIFFERENT]
        of_class = _differing(varied(some, self.values, self.random, self.dtype))
        if self.values == "zeros" and self.dtype.is_floating_point:
            flat[flat == 0] = -0.0
        others = self.apart(np.arange(made.size))
        chosen = of_class[~_among(of_class, others)][: made.size // 2]
        places = self.random.choice(made.size, len(chosen), replace=False)
        flat[places] = chosen
        return made

    def ints(
        self, *shape: int, low: int = 0, high: int = 10, dtype: str = "int64"
    ) -> Array:
        """Of the class as far as integers in a range can be: the ends, or a few."""
        if self._turn.plain is not None:
            return self._turn.plain.ints(*shape, low=low, high=high, dtype=dtype)
        made = super().ints(*self._shape(shape), low=low, high=high, dtype=dtype)
        if not made.size:
            return made
        pool: list[Any] = []
        if self.values in _ENDS:
            pool = [low, high - 1]
        elif self.values in _REPEATED:
            pool = list(made.reshape(-1)[:2])
        elif self.values == "zeros":
            pool = [low]
        if not pool:
            return made
        often = self.random.random(made.shape) < (
            0.9 if self.values in _REPEATED else 0.5
        )
        return np.where(
            often, self.random.choice(np.asarray(pool, dtype), made.shape), made
        )

    def bools(self, *shape: int) -> Array:
        """With whole slices that are all the same, where others have such."""
        if self._turn.plain is not None:
            return self._turn.plain.bools(*shape)
        made = super().bools(*self._shape(shape))
        if self.values in _SLICES and made.size:
            return varied(made, "flat", self.random, bool_)
        return made

    def permutation(self, n: int) -> Array:
        if self._turn.plain is not None:
            return self._turn.plain.permutation(n)
        return super().permutation(self.sizes(n))

    def together(self, call: Case) -> Case:
        """The call, its free operands matched where the class says how.

        Equal ones are so by `==`, all or half of their elements, and zeros of floats
        among them differ in sign. Of pairs, each number of a pool meets each. What is
        balanced meets ones. Zeros
        that a case makes itself are of either sign, where zeros are what to draw. What
        is masked is so in whole regions of what the op takes together.
        """
        if self.values == "zeros" and self.dtype.is_floating_point:
            return self._with_signs(call)
        numbers = TABLE[self.values].regions
        if numbers and regional(self.op):
            return regions_filled(
                self.op, call, numbers, self.bounded, self.dtype, self.random
            )
        if self.values not in (EQUAL, PAIRS, BALANCED):
            return call
        free = [a for a in _arrays(call) if any(a is b for b in self._free)]
        if self.values != EQUAL and len(free) < 2:
            return call
        if self.values == EQUAL:
            made = self._equal(free, self._source(free, call))
        elif self.values == PAIRS:
            made = self._crossed(free)
        else:  # of products the terms are to be so
            kept = int(self.random.integers(len(free)))
            made = [a if at == kept else np.ones_like(a) for at, a in enumerate(free)]

        def of(value: Any) -> Any:
            if isinstance(value, list):
                return [of(v) for v in value]
            return next(
                (m for a, m in zip(free, made, strict=True) if a is value), value
            )

        return _each_of(call, of)

    def _with_signs(self, call: Case) -> Case:
        """The call, half of the zeros negative in what was not drawn of a class."""
        known = (*self._free, *self.bounded)

        def of(value: Any) -> Any:
            if isinstance(value, list):
                return [of(v) for v in value]
            own = isinstance(value, np.ndarray) and value.dtype == self.dtype.numpy
            if not own or any(a is value for a in known):
                return value
            turned = (value == 0) & (self.random.random(value.shape) < 0.5)
            return np.where(turned, -value, value)

        return _each_of(call, of)

    def _source(self, free: list[Array], call: Case) -> Array | None:
        """What others become equal to: the least; of bounds, if only one has none."""
        among = free
        if len(free) == 1:
            among = [a for a in _arrays(call) if any(a is b for b in self.bounded)]
        return min(among, key=lambda a: (a.size == 0, a.size), default=None)

    def _equal(self, free: list[Array], source: Array | None) -> list[Array]:
        """Arrays that are equal everywhere, or in half of the places and both ends."""
        if source is None:
            return free
        share = self.random.choice([0.5, 1.0])
        return [a if a is source else self._alike(a, source, share) for a in free]

    def _alike(self, a: Array, source: Array, share: float) -> Array:
        """An array that is equal to that share of `source`, where that broadcasts."""
        try:
            like = np.broadcast_to(source, a.shape)
        except ValueError:
            return a
        if like.dtype.kind not in "biuc":
            like = np.where(like == 0, -like, like)
        same = np.asarray(self.random.random(a.shape) < share)
        if a.size:
            same.reshape(-1)[[0, -1]] = True
        return np.where(same, like, a)

    def _crossed(self, free: list[Array]) -> list[Array]:
        """Arrays of one shape such that all pairs of the pool are in the first two."""
        numbers = pool(self.dtype)
        count = len(numbers)
        start = int(self.random.integers(count * count))
        made = []
        for turn, a in enumerate(free):
            at = (np.arange(a.size) + start) % (count * count)
            chosen = numbers[at // count if turn % 2 else at % count]
            same = a.shape == free[0].shape
            made.append(chosen.reshape(a.shape) if same else a)
        return made


def _each_of(call: Case, of: Callable[[Any], Any]) -> Case:
    return Case(tuple(map(of, call.args)), {k: of(v) for k, v in call.kwargs.items()})


def _arrays(call: Case) -> list[Array]:
    found: list[Array] = []
    for value in (*call.args, *call.kwargs.values()):
        many = value if isinstance(value, list) else [value]
        found += [v for v in many if isinstance(v, np.ndarray)]
    return found


def _far_from_zero(a: Array) -> Array:
    """The same differences about a large mean, where the format holds them."""
    far = (a.astype(np.float64) + 4 * a.size).astype(a.dtype)
    return far if len(_differing(far)) == a.size else a


def _among(some: Array, many: Array) -> Array:
    """Which of a few values are among many, mostly in order; NaN is not."""
    ordered = np.sort(_comparable(many), kind="stable")  # quick where little is to do
    wanted = _comparable(some)
    at = np.searchsorted(ordered, wanted).clip(max=ordered.size - 1)
    return np.asarray(ordered[at] == wanted)


def _comparable(a: Array) -> Array:
    """The same values in a format that NumPy sorts."""
    return a if a.dtype.kind in "biufc" else a.astype(np.float64)


def _differing(a: Array) -> Array:
    """The values of an array, each once, in any order."""
    flat = a.reshape(-1)
    _, at = np.unique(_comparable(flat), return_index=True)
    found: Array = flat[np.sort(at)]
    return found
