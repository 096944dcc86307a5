"""Sizes at which numbers in float32 count no further: indices, counts, long sums."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import numpy as np

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.budget import Budget
from dovetail.conformance.compare import against_oracle
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Unclaimed, Wrong, law
from dovetail.conformance.laws.agreement import judged, named
from dovetail.conformance.laws.tails import asks_for_more, dim_of
from dovetail.conformance.meaning import REFUSALS
from dovetail.conformance.oracle import truth
from dovetail.conformance.sizes import Sizing
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import ORDINARY
from dovetail.conformance.verdicts import How
from dovetail.dtypes import Array, DType, bool_, float32, int8, int32, uint8
from dovetail.engine.cases import Case, calls_of, cases_of
from dovetail.engine.op import Op
from dovetail.engine.parameters import Param

_LAST: Final = 1 << 24  # the last number to which float32 counts
_FAR: Final = _LAST + 2  # the last index is odd: float32 has none such
_LONG: Final = _LAST + (1 << 22) + 1
_SMALL: Final = (uint8, int8, bool_)  # the first that a device has: memory is short
_MOST: Final = 4 * _FAR  # elements of a call
_PATTERN: Final = 65_521  # so many are drawn; a prime, that no tile repeats them
_INDICES: Final = 1 << 12
_CALLS: Final = 2  # with indices, for each op


def _fits(subject: Subject, op: Op, dtype: DType) -> bool:
    """Native kernels that count elements: what is indexed, reduced or created."""
    if op.oracle is None or op.draws or subject.how(op, dtype) is not How.NATIVE:
        return False
    if _count_of(op) is not None:
        return dtype in (int32, float32)
    if dtype is float32 and _shortens(op):
        return True
    takes = [d for d in _SMALL if subject.how(op, d) is How.NATIVE]
    return dtype in takes[:1] and (bool(op.indices) or dim_of(op) is not None)


def _count_of(op: Op) -> Param | None:
    """The number of elements that an op is to create."""
    counts = [p for p in op.rest if p.annotation == "int"]
    return counts[0] if counts and not op.tensors else None


def _shortens(op: Op) -> bool:
    """Whether an op adds up a whole row."""
    return dim_of(op) is not None and (op.sums or op.averages) and "keepdim" in op.names


def _calls(subject: Subject, op: Op, dtype: DType, budget: Budget) -> Iterator[Example]:
    """A count, some indices, or rows of one number but for the last."""
    dim = dim_of(op)
    if _count_of(op) is not None:
        yield from _counted(op, dtype)
    elif op.indices:
        yield from _indexed(subject, op, dtype)
    elif dim is not None and dtype is float32 and _shortens(op):
        row = np.ones(_LONG, np.float32)
        yield Example(Case((row,), {dim: 0}), size=str(_LONG))
    elif dim is not None and not asks_for_more(op, dim):
        for all_but, last in ((1, 0), (0, 1))[: 2 if "keepdim" in op.names else 1]:
            row = np.full(_FAR, all_but, dtype.numpy)
            row[-1] = last
            yield Example(Case((row,), {dim: 0}), values="rare", size=str(_FAR))


def _counted(op: Op, dtype: DType) -> Iterator[Example]:
    """The op's first call with elements, of as many that float32 cannot number them."""
    count = _count_of(op)
    assert count is not None
    for case in cases_of(op, dtype):
        given = dict(zip(op.names, case.args, strict=False)) | case.kwargs
        if given[count.name]:
            yield Example(Case((), given | {count.name: _FAR}), size=str(_FAR))
            return


def _indexed(subject: Subject, op: Op, dtype: DType) -> Iterator[Example]:
    """The op's calls with one size so large that indices point beyond 2^24."""
    found = 0
    own = list(cases_of(op, dtype))
    for number, case in enumerate(own):
        arrays = Example(case).arrays()
        for size in sorted({n for a in arrays for n in a.shape if n > 1}):
            made = _enlarged(op, dtype, number, size)
            if found < _CALLS and made is not None and _means(subject, op, made, dtype):
                found += 1
                yield made
                break


def _enlarged(op: Op, dtype: DType, number: int, size: int) -> Example | None:
    """A call of the op's with that size far larger, if it has such indices then."""
    make = _Vast(op, dtype, size)
    with suppress(*REFUSALS):
        for at, case in enumerate(calls_of(op, make)):
            if at == number:
                example = Example(case, size=str(_FAR))
                return None if make.oversized or not _far(op, case) else example
            make.oversized.clear()
    return None


def _far(op: Op, case: Case) -> bool:
    """Whether some index points beyond what float32 counts, among not too many."""
    given = dict(zip(op.names, case.args, strict=False)) | case.kwargs
    arrays = [
        a for n in op.indices for a in Example(Case((given.get(n),), {})).arrays()
    ]
    return bool(arrays) and all(
        a.size <= _INDICES and (a.size == 0 or int(np.max(np.abs(a))) > _LAST)
        for a in arrays
    )


def _means(subject: Subject, op: Op, example: Example, dtype: DType) -> bool:
    """Whether the op takes the call."""
    if sum(a.size for a in example.arrays()) > _MOST:
        return False
    try:
        results = Subject("meta").run(op, Example(example.case), dtype)
        return sum(math.prod(y.shape) for y in results) <= _MOST
    except REFUSALS:
        return False


class _Vast(Varied):
    """Draws one of the sizes that a case names far larger, and indices into it."""

    def __init__(self, op: Op, dtype: DType, size: int) -> None:
        def of(n: int) -> int:
            return _FAR if n == size else n

        super().__init__(op, dtype, ORDINARY, Sizing(of), 1)
        self.size = size

    def _shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        drawn = self.sizes.shape(shape)
        if math.prod(drawn) <= _MOST:
            return drawn
        self.oversized.append(shape)
        return shape

    def __call__(
        self, *shape: int, low: float | None = None, high: float | None = None
    ) -> Array:
        return self._filled(self._shape(shape), low, high)

    def exactly(
        self, shape: tuple[int, ...], low: float | None = None,
        high: float | None = None,
    ) -> Array:  # fmt: skip
        return self._filled(shape, low, high)

    def _filled(
        self, shape: tuple[int, ...], low: float | None, high: float | None
    ) -> Array:
        """A few numbers again and again, which is cheap."""
        count = min(math.prod(shape), _PATTERN)
        few = super(Varied, self).__call__(count, low=low, high=high)
        return np.resize(few, shape)

    def distinct(self, *shape: int) -> Array:
        drawn = self._shape(shape)
        few = super(Varied, self).distinct(min(math.prod(drawn), _PATTERN))
        return np.resize(few, drawn)

    def ints(
        self, *shape: int, low: int = 0, high: int = 10, dtype: str = "int64"
    ) -> Array:
        low, high = self._end(low), self._end(high)
        if math.prod(self.sizes.shape(shape)) > _INDICES:
            self.oversized.append(shape)
            return np.zeros(shape, dtype)
        if high <= _LAST:
            return super().ints(*shape, low=low, high=high, dtype=dtype)
        ends = (low, 0, _LAST - 1, _LAST, high - 1)
        chosen = self.random.choice(np.array(ends, dtype), self._shape(shape))
        chosen.reshape(-1)[:1] = high - 1
        return chosen

    def _end(self, n: int) -> int:
        return int(math.copysign(_FAR, n)) if abs(n) == self.size else n

    def permutation(self, n: int) -> Array:
        if self.sizes(n) <= _LAST:
            return super().permutation(n)
        return np.arange(self.sizes(n) - 1, -1, -1)


@law("vast", examples=_calls, fits=_fits, rank=60, shrinks=False, depth=4)
def vast(trial: Trial) -> None:
    """Indices, counts and sums are right where float32 counts no further.

    A sum of so many ones may be rounded in any order but that of one after the other.
    """
    op, dtype = judged(trial)
    try:
        results = trial.subject.run(op, trial.example, dtype)
        if not (dtype is float32 and results[0].dtype is float32):
            against_oracle(trial, results)
            return
        wanted = truth(op, trial.example, dtype)
        for at, (y, want) in enumerate(zip(results, wanted, strict=True)):
            judge = _ends if want.ndim else _near
            judge(named(op, at), trial.subject.values(y), want)
    except MemoryError:
        raise Unclaimed(f"no memory for {_LONG} elements") from None


def _near(name: str, got: Array, want: Array) -> None:
    """Within what rounding at random makes of as many sums."""
    room = 2 * math.sqrt(_LONG) * 2.0**-24 * max(abs(float(want)), 1.0)
    if not abs(float(got) - float(want)) <= room:
        raise Wrong(f"{name} of {_LONG} ones is {got}, needed {want}")


def _ends(name: str, got: Array, want: Array) -> None:
    """The first numbers and the last, each by four roundings at most."""
    if got.shape != want.shape:
        raise Wrong(f"{name} is of shape {got.shape}, needed {want.shape}")
    for at in (slice(0, _PATTERN), slice(-_PATTERN, None)):
        near = want[at].astype(np.float64)
        off = np.abs(got[at] - near) > 2.0**-22 * np.abs(near)
        if np.any(off):
            i = int(np.argmax(off))
            raise Wrong(f"{name}[{range(len(want))[at][i]}] is {got[at][i]}, needed "
                        f"{near[i]}")  # fmt: skip
