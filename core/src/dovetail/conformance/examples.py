"""Calls of an op, generated from its declaration: values × layout × size.

The op's own cases say how its arguments belong together; each row of a covering array
draws one of them again with other values, other sizes and another layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, zip_longest
from typing import Final

from dovetail.conformance.all_zero import all_zero
from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.at_sizes import at_sizes
from dovetail.conformance.budget import Budget
from dovetail.conformance.concentrated import concentrated
from dovetail.conformance.coverage import Coverage
from dovetail.conformance.covering import Covering, Row
from dovetail.conformance.crossings import (
    FEW_SHAPES,
    chosen_case,
    crossed,
    served_apart,
)
from dovetail.conformance.departures import departures
from dovetail.conformance.ends_met import ends_met
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.factors import (
    NONE_SUCH,
    NOT_HELD,
    REFUSED,
    Factors,
    Reasons,
    coverage_of,
    factors_of,
)
from dovetail.conformance.far_from_zero import far_from_zero
from dovetail.conformance.following import following
from dovetail.conformance.large_matrices import large_matrices
from dovetail.conformance.layouts import LAYOUTS, holds, laid
from dovetail.conformance.meaning import means_something
from dovetail.conformance.odd_pairs import odd_pairs
from dovetail.conformance.odd_sizes import odd_sizes
from dovetail.conformance.one_long import in_both_orders, one_long
from dovetail.conformance.one_of_many import one_by_one
from dovetail.conformance.operands import operand_shapes, repeated_shapes
from dovetail.conformance.other_orders import other_orders
from dovetail.conformance.pivots import zero_pivots
from dovetail.conformance.presence import reached
from dovetail.conformance.regions import regional
from dovetail.conformance.singular import singular
from dovetail.conformance.sizes import (
    AS_NAMED,
    BEYOND,
    EMPTY,
    FOUR_DIMS,
    MANY_DIMS,
    OWN,
    Sizing,
    about,
    given_shapes,
    has_size,
    named_shapes,
    sizes_for,
)
from dovetail.conformance.stretches import stretches
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import (
    EQUAL,
    MASKED,
    ORDINARY,
    PAIRS,
    SPECIAL,
    SWEEP,
)
from dovetail.conformance.verdicts import Check, How
from dovetail.dtypes import ALL, DType
from dovetail.engine.cases import Case, case, cases_of
from dovetail.engine.op import Op
from dovetail.engine.results import DATA

Ints = tuple[int, ...]
# Ops whose work may grow faster than their inputs are tried on smaller ones.
_LINEAR_ONLY_ABOVE: Final = 1 << 16
_LINE: Final = (37,)
_NOT_A_NUMBER: Final = {"values": SPECIAL, "size": OWN}
_EMPTY: Final = {"size": EMPTY}
_PLAINEST: Final = {"values": ORDINARY, "layout": PLAIN, "size": OWN}
_PAIRS: Final = {"values": PAIRS, "layout": PLAIN, "size": "1024"}
_SWEEP: Final = {"values": SWEEP, "layout": PLAIN, "size": "1024"}
_REGIONS: Final[tuple[Row, ...]] = (
    {"values": MASKED, "layout": PLAIN, "size": OWN},
    {"values": MASKED, "layout": PLAIN, "size": "1024"},
)
# Where a level is looked for that no row had: here arrays have more dims, or elements.
_ROOMS: Final = (OWN, FOUR_DIMS, MANY_DIMS, "32")
# A row is given up if as many cases and sizes have none like it.
_TRIES: Final = 6
_ATTEMPTS: Final = 2  # at rows, for each that is to be found
_EMPTY_EVERY: Final = 12  # rows: without elements there are no values to get wrong
_ROWS: Final = 16  # of a budget that has time for more than rows
_WHOLE: Final = 3  # values, layout and size
_MANY_TRIES: Final = 24  # at what few cases have in few sizes


def examples(
    subject: Subject, op: Op, dtype: DType, budget: Budget
) -> tuple[Example, ...]:
    """The op's own cases, then generated ones; the same for every law."""
    found = _drawn_for(subject, op, dtype, budget).calls
    if all(subject.claims(d) for d in ALL):
        return found
    return tuple(e for e in found if asks_for_claimed(subject, e))


def covered(
    subject: Subject, op: Op, dtype: DType, budget: Budget, calls: Iterable[Example]
) -> Coverage:
    """What calls, such as were executed, reached of what there is to draw."""
    found = _drawn_for(subject, op, dtype, budget)
    return coverage_of(op, dtype, calls, found.factors, found.reasons)


def _drawn_for(subject: Subject, op: Op, dtype: DType, budget: Budget) -> _Drawn:
    native = subject.how(op, dtype) is How.NATIVE
    boundaries = subject.backend.launch_boundaries
    count = budget.rows if native else max(budget.rows * 3 // 5, 1)
    largest = budget.largest
    if (callable(op.shape) or op.shape is DATA) and not (op.unrounded and native):
        largest = min(largest, _LINEAR_ONLY_ABOVE)
    shapes = FEW_SHAPES if subject.backend.compiles_per_shape else None
    return _examples(op, dtype, count, largest, tuple(boundaries), shapes, budget.seed)


def asks_for_claimed(subject: Subject, example: Example) -> bool:
    """Whether a device has the dtypes that a call names; it has to refuse others."""
    case = example.case
    given = (*case.args, *case.kwargs.values()) if case is not None else ()
    return all(subject.claims(v) for v in given if isinstance(v, DType))


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The calls of an op, and what else there was to draw."""

    calls: tuple[Example, ...]
    factors: Factors
    reasons: Reasons


@lru_cache(maxsize=4)
def _examples(
    op: Op, dtype: DType, count: int, largest: int, boundaries: tuple[int, ...],
    shapes: int | None, seed: int,
) -> _Drawn:  # fmt: skip
    own = [Example(case) for case in cases_of(op, dtype)]
    factors = factors_of(op, dtype, largest, boundaries)
    reasons = Reasons()
    made = _generated(op, dtype, count, factors, reasons, largest, shapes, seed)
    grown = "" if shapes else served_apart(op, factors["size"], boundaries)
    options = crossed(
        op, dtype, count, factors["values"], factors["layout"], grown, seed
    )
    # In turn, so that laws that look at a few calls see some of both.
    both = (e for pair in zip_longest(made, options) for e in pair if e is not None)
    return _Drawn((*own, *both), factors, reasons)


def _generated(
    op: Op, dtype: DType, count: int, factors: Factors, reasons: Reasons,
    largest: int, shapes: int | None, run: int,
) -> Iterator[Example]:  # fmt: skip
    if max(map(len, factors.values())) == 1:
        return
    seed = Check(op.name, dtype.name, "examples").seeded(run)
    # Without elements there are no values to get wrong, and no layouts.
    some = {name: [x for x in levels if x != EMPTY] for name, levels in factors.items()}
    covering = Covering(some, seed)
    made = 0
    for number in range(_ATTEMPTS * count):
        if made == count:
            break
        wanted = covering.wanted() | _always(op, number, factors)
        example = _asked(op, dtype, wanted, seed + number, shapes, covering, reasons)
        if example is not None:
            made += 1
            yield example
    brief = count < _ROWS
    meeting = _meeting(op, dtype, factors["size"], seed)
    yield from islice(meeting, count // 2 if brief else count)
    yield from islice(one_by_one(op, dtype, factors["values"], seed), count // 2)
    if not shapes and not brief:
        longs = one_long(op, dtype, factors["values"], largest, seed)
        yield from in_both_orders(op, dtype, islice(longs, count))
        yield from concentrated(op, dtype, largest, seed)
        yield from large_matrices(op, dtype, seed)
        yield from all_zero(op, dtype, factors["values"])
        yield from following(op, dtype, largest, seed)
        yield from odd_pairs(op, dtype, largest, seed)
        yield from far_from_zero(op, dtype, factors["values"], seed)
        yield from ends_met(op, dtype, factors["values"])
        yield from stretches(op, dtype, factors["values"], largest, seed)
        yield from in_both_orders(op, dtype, odd_sizes(op, dtype, largest, seed))
        for more in (other_orders, at_sizes, singular, zero_pivots):
            yield from more(op, dtype, seed)
    for factor, level in covering.in_vain():
        rooms = [OWN] if factor == "size" else [x for x in _ROOMS if x in some["size"]]
        for number, size in enumerate(rooms):
            wanted = _PLAINEST | {"size": size} | {factor: level}
            found = _asked(op, dtype, wanted, seed + number, shapes, covering, reasons)
            if found is not None:
                yield found
            if covering.has_met(factor, level):
                break


def _meeting(
    op: Op, dtype: DType, sizes: Sequence[str], seed: int
) -> Iterator[Example]:
    """Elementwise calls of lines, and of operands that meet in four dims.

    A line has gaps, and one is half as long again as the largest size. Of operands one
    is repeated along each set of dims, of four and of three of one size.
    """
    if op.cases is not None or not op.tensors:
        return
    count = len(op.tensors)
    wanted: list[tuple[list[Ints], str, str]] = [([_LINE] * count, OWN, "strided")]
    most = max((int(s) for s in sizes if s.isdigit()), default=0)
    if most:
        wanted.append(([(about(most, BEYOND),)] * count, str(most), PLAIN))
    if count > 1:
        wanted += [
            (shapes, FOUR_DIMS if len(shapes[0]) == 4 else OWN, PLAIN)
            for shapes in repeated_shapes(count)
        ]
    for number, (shapes, size, layout) in enumerate(wanted):
        make = Varied(op, dtype, ORDINARY, AS_NAMED, seed + number)
        call = _of_shapes(op, make, shapes)
        example = Example(call, layout, size=size)
        if call is not None and means_something(op, example, dtype):
            yield example


def _asked(
    op: Op, dtype: DType, wanted: Row, number: int, shapes: int | None,
    covering: Covering, reasons: Reasons,
) -> Example | None:  # fmt: skip
    """A call for a row, ticked for what it has; None if that is nothing new."""
    made, why = _attempt(op, dtype, wanted, number, shapes)
    has = {} if made is None else reached(op, dtype, made)
    if wanted["size"] == EMPTY:
        wanted = {"size": EMPTY}
    covering.missed(wanted, has)
    reasons.ended(wanted, has, why)
    if made is None or not (wanted.keys() <= has.keys() or covering.worth(has)):
        return None
    covering.tick(has)
    return made


def _always(op: Op, number: int, factors: Factors) -> Row:
    """What rows have in every budget, as kernels forget it.

    NaN, nothing at all, each special number with each, and the whole line; nothing but
    -inf in all that a result is made of.
    """
    first: list[Row] = [_NOT_A_NUMBER, _EMPTY]
    first.append(_PAIRS if EQUAL in factors["values"] else _SWEEP)
    first.extend(_REGIONS if regional(op) else ())
    wanted = first[number] if number < len(first) else {}
    if number % _EMPTY_EVERY == 1:
        wanted = _EMPTY
    return wanted if all(x in factors[name] for name, x in wanted.items()) else {}


def drawn(
    op: Op, dtype: DType, row: Row, number: int, shapes: int | None = None
) -> Example | None:
    """A call for a row, or one that has most of it; None where the op has none.

    `shapes` is how many ways to size a call there are; None for as many as numbers.
    """
    return _attempt(op, dtype, row, number, shapes)[0]


def _attempt(
    op: Op, dtype: DType, row: Row, number: int, shapes: int | None
) -> tuple[Example | None, str]:
    """A call with most of a row, and why none has more."""
    best, most, why = None, -1, NONE_SUCH
    rare = row["size"] == EMPTY or (row["values"] == MASKED and regional(op))
    tries = _MANY_TRIES if rare else _TRIES
    for at in range(number, number + tries):
        turn = at if shapes is None else at % shapes
        case = _case(op, dtype, row, at, turn, most)
        if case is None:
            continue
        example, has = _fuller(op, dtype, row, case, at, most)
        if example is None:
            why = REFUSED if has > most else why
            continue
        best, most = example, has
        if most == _WHOLE:
            break
    return best, NOT_HELD if best else why


def _fuller(
    op: Op, dtype: DType, row: Row, case: Case, number: int, most: int
) -> tuple[Example | None, int]:
    """A call with more than `most` of a row that the op takes, and how much it has.

    One that departs from its case, if that number does and the call has no less.
    """

    def of_row(call: Case) -> Example:
        lies = laid(op, call, row["layout"])
        return Example(lies, row["layout"], row["values"], row["size"])

    usual = of_row(case)
    has = _counted(op, dtype, usual)
    if has <= most:
        return None, has
    departing = () if row["size"] == EMPTY else departures(op, case, number)
    for other in map(of_row, departing):
        as_much = _counted(op, dtype, other) >= has
        if as_much and means_something(op, other, dtype):
            return other, has
    return usual if means_something(op, usual, dtype) else None, has


def _counted(op: Op, dtype: DType, example: Example) -> int:
    """How much of its row a call has; -1 for one that is not worth a try."""
    has = reached(op, dtype, example)
    if example.size == EMPTY:
        return _WHOLE if "size" in has else -1
    return len(has)


def _case(
    op: Op, dtype: DType, row: Row, number: int, turn: int, most: int
) -> Case | None:
    """One of the op's cases for a row; None where it cannot have more than `most`."""
    make = Varied(op, dtype, row["values"], AS_NAMED, number)
    if op.cases is None:
        return _elementwise(op, make, row, turn, most)
    named = named_shapes(op, dtype)
    if not named:
        return None
    chosen = number % len(named)
    make.sizes = sizes_for(row["size"], named[chosen], turn, op.largest)
    given = given_shapes(op, dtype)[chosen]
    if most >= 0 and _promised(row, make.sizes, named[chosen], given) <= most:
        return None
    return chosen_case(op, make, chosen)


def _promised(
    row: Row, sizing: Sizing, named: tuple[Ints, ...], given: tuple[Ints, ...]
) -> int:
    """How much of a row a call of such sizes has at most, before it is drawn.

    Args:
        named: the shapes that the case asks for, which are drawn in those sizes.
        given: the shapes that its arrays have then, where sizes are as it names them.
    """
    layout, size = row["layout"], row["size"]
    if sorted(named) == sorted(given):  # so the arrays are what is drawn
        shapes = [sizing.shape(s) for s in named]
        lies = layout == PLAIN or any(holds(s, layout) for s in shapes)
        sized = has_size(size, shapes)
    else:
        dims = max(map(len, given), default=0) + len(sizing.lead)
        lies = LAYOUTS[layout].place((2,) * dims) is not None
        sized = sizing is not AS_NAMED or has_size(size, list(given))
    return _WHOLE - (not lies) - (not sized)


def _elementwise(op: Op, make: Varied, row: Row, number: int, most: int) -> Case | None:
    """Operands that broadcast, of drawn shapes."""
    if row["values"] == PAIRS:
        number |= 1  # of one shape, that each number meets each
    shapes = operand_shapes(len(op.tensors), row["size"], number, row["layout"])
    lies = row["layout"] == PLAIN or any(holds(s, row["layout"]) for s in shapes)
    if most == _WHOLE - 1 and not (lies and has_size(row["size"], list(shapes))):
        return None
    return _of_shapes(op, make, shapes)


def _of_shapes(op: Op, make: Varied, shapes: Sequence[Ints]) -> Case | None:
    drawn = (
        make.bools(*shape) if p.name in op.masks else make(*shape)
        for p, shape in zip(op.tensors, shapes, strict=True)
    )
    return make.together(case(*drawn))
