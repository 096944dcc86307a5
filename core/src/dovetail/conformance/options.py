"""The options of an op's calls: the levels of each attribute, and how calls cross them.

Levels follow from an attribute's type and from what the op's own cases give it. What
the op refuses of a crossing is no call; the op's rule says so.
"""

from __future__ import annotations

import math
from ast import literal_eval
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from dovetail.conformance.covering import Covering, Row
from dovetail.conformance.formats import INT
from dovetail.dtypes import DType, complex128, float64
from dovetail.engine.cases import Case, Sampler, calls_of
from dovetail.engine.op import Op
from dovetail.engine.parameters import REQUIRED, Param

Levels = dict[str, tuple[Any, ...]]
DECLARED: Final = "declared"
CROSSED: Final = "crossed"
_CASE: Final = "case"
_DIM: Final = (0, -1, 1, -2, 2)
_DIMS: Final = ((0,), (-1,), (0, 1), (-1, 0), (1, 2), (-2, -1))
_SET: Final = (*_DIMS, (0, 1, 2), (-1, 1, 0))  # of as many dims as there are
_NUMBERS: Final = (0, 1, -1, 2, 3)
_REALS: Final = (0.0, 1.0, -1.0, 0.5, -0.0, math.inf, -math.inf, math.nan)
_BEYOND: Final = ((1 << 24) - 3, 3 - (1 << 24))  # here float32 counts no further
# Numbers that some formats hold and others round: float32's integers, and double's.
_PAST_SINGLE: Final = (1 << 24) + 1
_PAST_DOUBLE: Final = (1 << 53) + 1
_HALF: Final = 0.5
_TENTH: Final = 0.1  # which float32 does not hold
# By an attribute's type, what it may be whatever the op.
_OF_TYPE: Final[dict[str, tuple[Any, ...]]] = {
    "bool": (False, True), "Axis": _DIM, "NewAxis": _DIM, "AxisOrAll": _DIM,
    "AxisOrEvery": _DIM, "AxisList": _DIMS, "AxisSet": _SET, "int": _NUMBERS,
    "Axes": (*_DIM, *_DIMS, None, ()), "AxesIfAny": (*_DIM, *_DIMS, None, ()),
    "AxesGiven": (*_DIM, *_DIMS), "AxesOrEvery": (*_DIM, *_DIMS),
}  # fmt: skip
_SCALARS: Final = frozenset({
    "Scalar", "Element", "Factor", "Positive", "NonNegative", "NonZero", "Extent",
    "Finite", "Probability",
})  # fmt: skip
_TUPLES: Final = ((1, 1), (2, 2), (0, 0), (1, 2), (2, 1))  # repeated to any length
# These belong to the shapes of the tensors that they are given with, as flags of ops
# with indices do to the places these name: which of several values stays is open.
_OF_SHAPES: Final = frozenset({"Shape", "Sizes", "Index"})
# Results of ops without tensors, which no operand makes large: past blocks of a launch.
_MANY: Final = (1 << 12) + 7
_MORE: Final = (1 << 16) + (1 << 12) + 3  # and past what 16 bits count
_SHAPES: Final = ((), (1,), (7,), (0, 3), (5, 6), (2, 3, 2, 1, 2), (_MANY,), (_MORE,))


class _Listening(Sampler):
    """Hears whose sample calls an op's own are made of, and what they give."""

    def __init__(self, op: Op, dtype: DType) -> None:
        super().__init__(op, dtype)
        self.heard: list[tuple[Op, Case]] = []

    def crossed(self, op: Op, number: int, call: Case) -> Case:
        self.heard.append((op, call))
        return call


@lru_cache(maxsize=64)
def crossed_op(op: Op, dtype: DType) -> tuple[Op, Levels]:
    """The op whose options are crossed where calls of `op` are, and their levels.

    Calls of a gradient are made of those of its op, whose options it takes over.
    """
    sampler = _Listening(op, dtype)
    has_any = op.cases is not None and not op.unspecified
    count = sum(1 for _ in calls_of(op, sampler)) if has_any else 0
    if not count:
        return op, {}
    source = sampler.heard[0][0]
    calls = [call for heard, call in sampler.heard if heard is source]
    found: Levels = {_CASE: tuple(range(count))}
    for param in source.rest:
        own = [
            v for v in (_given(source, c, param) for c in calls) if v is not REQUIRED
        ]
        levels = _levels(source, dtype, param, own)
        if len(levels) > 1:
            found[param.name] = levels
    return source, found if len(found) > 1 else {}


def _given(op: Op, call: Case, param: Param) -> Any:
    """What a call gives for a parameter, or its default."""
    given = dict(zip(op.names, call.args, strict=False)) | call.kwargs
    return given.get(param.name, param.default)


def _levels(op: Op, dtype: DType, param: Param, own: list[Any]) -> tuple[Any, ...]:
    """What an attribute may be; the op's own values first."""
    if op.layout_matters:  # these say where memory is
        return tuple(_each(own))
    if param.name in op.levels:
        return tuple(_each([*own, *op.levels[param.name]]))
    name = param.annotation.removesuffix(" | None") or param.role
    if (name in _OF_SHAPES and op.tensors) or (op.indices and name == "bool"):
        return ()
    more = _OF_TYPE.get(name, ())
    if name.startswith("Literal["):
        more = tuple(literal_eval(name.removeprefix("Literal")))
    elif name == "Shape" and not op.tensors:
        more = _SHAPES
    elif name == "int" and not op.tensors and not _scales(op):
        more = (*more, _MANY)
    elif name == "Ints":
        more = _TUPLES
    elif param.annotation == "DType | None" and op.tensors:
        more = _wider(dtype)
    elif name in _SCALARS:
        more = _scalars(op, dtype)
    if param.annotation.endswith(" | None"):
        more = (*more, None)
    return tuple(_each([*own, *more]))


def _each(values: list[Any]) -> Iterator[Any]:
    """Each value once; numbers of other types and signs are others."""
    seen = set()
    for value in values:
        if repr(value) not in seen:
            seen.add(repr(value))
            yield value


def _scales(op: Op) -> bool:
    """Whether numbers are counted in steps, which so many may lead out of a format."""
    return any(p.annotation in _SCALARS and not op.draws for p in op.rest)


def _wider(dtype: DType) -> tuple[DType, ...]:
    """Formats that a result may be asked for in: such as hold more.

    In those that hold less, differences of results show no gradient.
    """
    if dtype.is_complex:
        return () if dtype.real.itemsize > 4 else (complex128,)
    return () if dtype.is_inexact and dtype.itemsize > 4 else (float64,)


def _scalars(op: Op, dtype: DType) -> tuple[Any, ...]:
    if op.draws:  # parameters of distributions have ranges of their own
        return ()
    beyond = _BEYOND if not op.tensors and dtype.itemsize > 2 else ()
    if dtype.is_inexact or op.promote == "float":
        if dtype.is_inexact and dtype.real.itemsize > 4 and op.tensors:
            return tuple(_TENTH if x == _HALF else x for x in _REALS)
        return (*(x for x in _REALS if _has_such(dtype, x)), *beyond)
    return (0, 1, -1, 2, *_held(dtype), *beyond)


def _has_such(dtype: DType, number: float) -> bool:
    """Whether a format has numbers of that sign, if it is one of floats."""
    if not dtype.is_inexact or not math.isfinite(number):
        return True
    return not np.isnan(np.asarray(number).astype(dtype.real.numpy).astype(np.float64))


def _held(dtype: DType) -> Iterator[int]:
    """Integers of a format that floats of its size, or the next, do not hold."""
    if dtype.category == INT and dtype.itemsize > 2:
        yield _PAST_SINGLE
    if dtype.category == INT and dtype.itemsize > 4:
        yield _PAST_DOUBLE


@dataclass(frozen=True, slots=True)
class Options:
    """Options for one of an op's sample calls.

    Attributes:
        source: the op whose call they go to.
        case: the number of that call.
        values: by name.
    """

    source: Op
    case: int
    values: dict[str, Any]

    def go_to(self, op: Op, number: int) -> bool:
        """Whether they are for that sample call of an op."""
        return op is self.source and number == self.case

    def applied(self, call: Case) -> Case:
        """The call with these options."""
        names = self.source.names
        own = dict(zip(names, call.args, strict=False)) | call.kwargs
        shapes = {p.name for p in self.source.rest if p.annotation == "Shape"}
        left = {
            name: v if name in shapes else _fitted(v, own.get(name))
            for name, v in self.values.items()
        }
        args = tuple(left.pop(n, v) for n, v in zip(names, call.args, strict=False))
        return Case(args, call.kwargs | left)


def _fitted(value: Any, own: Any) -> Any:
    """A tuple with as many numbers as the call has dims for, as what it stands for."""
    if isinstance(value, tuple) and isinstance(own, tuple) and value and own:
        return tuple(value[at % len(value)] for at in range(len(own)))
    return value


class Crossing:
    """Which options to try next: such as meet each other and the op's cases."""

    def __init__(self, op: Op, dtype: DType, seed: int) -> None:
        self.source, self.levels = crossed_op(op, dtype)
        self._first = seed
        self._covering = Covering(
            {name: tuple(map(str, range(len(v)))) for name, v in self.levels.items()},
            seed,
        )

    def wanted(self) -> Row:
        """The row that promises most: numbers of levels; any if all have met."""
        return self._covering.wanted()

    def is_new(self, row: Row) -> bool:
        """Whether two levels meet in it that did not yet."""
        return self._covering.worth(row) > 0

    def options(self, row: Row) -> Options:
        """What a row stands for."""
        values = {name: v[int(row[name])] for name, v in self.levels.items()}
        return Options(self.source, values.pop(_CASE), values)

    @property
    def turns(self) -> int:
        """How many times they turn until each level was there."""
        return max((len(v) for n, v in self.levels.items() if n != _CASE), default=0)

    def turned(self, number: int, case: int) -> Options:
        """Others for a case: each level of each option, as the numbers go on.

        Where all levels of two options have been, these meet otherwise: in step, two
        flags would never both be set.
        """
        values = {
            name: v[(number + at + (number // len(v) >> at) + self._first) % len(v)]
            for at, (name, v) in enumerate(self.levels.items())
        }
        return Options(
            self.source, case, {n: v for n, v in values.items() if n != _CASE}
        )

    def drawn(self, row: Row, found: bool) -> None:
        """Whether the op takes the options of a row."""
        self._covering.missed(row, row if found else {})
        if found:
            self._covering.tick(row)
