"""A call counts for what is in its arrays, and what was not drawn is said."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance import examples as drawing
from dovetail.conformance import presence, sizes, values
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.coverage import Coverage
from dovetail.conformance.covering import Covering
from dovetail.conformance.example import Example
from dovetail.conformance.factors import NOT_HELD
from dovetail.conformance.layouts import LAYOUTS
from dovetail.conformance.plan import dtypes_of
from dovetail.conformance.sizes import EMPTY
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import EQUAL, PAIRS, classes_for, varied
from dovetail.engine.cases import Case
from dovetail.engine.op import Op, declared, vocabulary

CPU = Subject("cpu")
STANDARD = BUDGETS["standard"]
# Of the classes, layouts and sizes that an op may be asked for. What is below has
# cases that allow no more, which the reasons say.
OF_AN_OP = 0.3
OF_A_LEVEL = 0.8
OF_ALL = 0.93


@pytest.fixture
def afresh() -> Iterator[None]:
    """Nothing that was drawn before is used, nor kept for others."""
    drawing._examples.cache_clear()
    yield
    drawing._examples.cache_clear()


def of(op: Op, dtype: dt.dtype) -> Coverage:
    """What the calls of an op reach at `standard`."""
    calls = drawing.examples(CPU, op, dtype, STANDARD)
    return drawing.covered(CPU, op, dtype, STANDARD, calls)


def counted(found: list[Coverage]) -> dict[tuple[str, str], float]:
    """By level, the share of what was asked for that was reached."""
    met: Counter[tuple[str, str]] = Counter()
    asked: Counter[tuple[str, str]] = Counter()
    for coverage in found:
        for factor in coverage.reached:
            met.update((factor, x) for x in coverage.reached[factor])
            asked.update((factor, x) for x in coverage.reached[factor])
            asked.update((factor, x) for x in coverage.missed[factor])
    return {level: met[level] / asked[level] for level in asked}


def share_of(found: list[Coverage]) -> float:
    """The share of all levels that was reached."""
    return sum(c.share for c in found) / len(found)


def some_ops(every: int) -> list[tuple[Op, dt.dtype]]:
    """One of so many ops, each in one of its dtypes; a new op changes no other's."""
    pairs = []
    for op in sorted(declared(), key=lambda op: op.name):
        number, dtypes = crc32(op.name.encode()), dtypes_of(CPU, op, STANDARD)
        if number % every == 0:
            pairs.append((op, dtypes[number % len(dtypes)]))
    return [(op, d) for op, d in pairs if op.tensors and not op.layout_matters]


def test_calls_reach_most_of_what_there_is() -> None:
    """Of a few of the ops, nearly all classes, layouts and sizes are drawn."""
    found = [of(op, dtype) for op, dtype in some_ops(30)]
    assert share_of(found) >= OF_ALL


@pytest.mark.slow
def test_calls_of_all_ops_reach_what_there_is() -> None:
    """Of each op and over all of them, a stated share of all levels is drawn."""
    found = {(op.name, d.name): of(op, d) for op, d in some_ops(1)}
    low = {k: c.missed for k, c in found.items() if c.share < OF_AN_OP}
    assert not low
    rare = {k: v for k, v in counted(list(found.values())).items() if v < OF_A_LEVEL}
    assert not rare
    assert share_of(list(found.values())) >= OF_ALL


@pytest.mark.parametrize("name", ["nan", "special", "masked", "subnormal"])
def test_class_that_is_not_drawn_is_not_covered(
    name: str, monkeypatch: pytest.MonkeyPatch, afresh: None
) -> None:
    """If a class draws ordinary numbers, the coverage says so for every op."""
    sound = values.TABLE[name]
    broken = replace(sound, make=lambda a, random, dtype: a, regions=())
    monkeypatch.setitem(values.TABLE, name, broken)
    found = [of(vocabulary[op], dt.float32) for op in ("exp", "add", "sum")]
    assert all(name in coverage.missed["values"] for coverage in found)


def test_size_that_is_not_reached_is_not_covered(
    monkeypatch: pytest.MonkeyPatch, afresh: None
) -> None:
    """If nothing grows, large sizes are said to be missing, with the reason."""
    monkeypatch.setattr(drawing, "sizes_for", lambda *_: sizes.AS_NAMED)
    missed = of(vocabulary["sum"], dt.float32).missed["size"]
    assert {"256", "1024", "65536"} <= set(missed)
    assert missed["65536"] == NOT_HELD


def test_layout_of_single_elements_is_not_covered() -> None:
    """A transposed call of a row is no transposed call."""
    op = vocabulary["add"]
    row, square = np.ones((1, 4), np.float32), np.ones((2, 4), np.float32)
    told = [
        presence.reached(op, dt.float32, Example(Case((a, a), {}), "transposed"))
        for a in (row, square)
    ]
    assert ["layout" in levels for levels in told] == [False, True]


def test_values_beside_an_empty_argument_are_not_covered() -> None:
    """Special weights of a product with a batch of none reach no result."""
    op = vocabulary["matmul"]
    zeros, random = np.zeros((4, 3), np.float32), np.random.default_rng(0)
    special = values.varied(zeros, "special", random, dt.float32)
    told = [
        presence.reached(op, dt.float32, Example(case, values="special"))
        for case in (Case((np.ones((n, 4), np.float32), special), {}) for n in (0, 2))
    ]
    assert ["values" in levels for levels in told] == [False, True]


NUMBERS = [
    dt.complex64, dt.complex128, dt.float32, dt.float64, dt.float16, dt.bfloat16,
    dt.int32, dt.int8, dt.uint8,
]  # fmt: skip


MEANT = [
    (name, dtype)
    for dtype in NUMBERS
    for name in classes_for(dtype)
    if name not in (EQUAL, PAIRS)  # of several operands
]


@pytest.mark.parametrize(("name", "dtype"), MEANT, ids=str)
def test_classes_are_what_they_say(name: str, dtype: dt.dtype) -> None:
    """What is drawn of a class is of it, by a look at the numbers."""
    random = np.random.default_rng(3)
    ordinary = random.uniform(1, 3, (8, 40)).astype(dtype.numpy)
    ordinary = ordinary * (1 + 1j) if dtype.is_complex else ordinary
    ordinary = ordinary.astype(dtype.numpy)
    drawn = [varied(ordinary, name, random, dtype) for _ in range(8)]
    assert all(a.dtype == ordinary.dtype and a.shape == ordinary.shape for a in drawn)
    assert any(values.holds(a, name, dtype) for a in drawn)


def test_nans_are_of_all_kinds() -> None:
    """NaN is drawn with either sign and many payloads, all of them quiet."""
    random = np.random.default_rng(0)
    a = varied(np.ones(4096, np.float32), "nan", random, dt.float32)
    words = a[np.isnan(a)].view(np.uint32)
    assert len(set(words.tolist())) > 50
    assert set((words >> 31).tolist()) == {0, 1}
    assert np.all(words & (1 << 22))


def test_complex_numbers_lie_on_both_sides_of_their_cuts() -> None:
    """Of zeros of either sign in one part, the other is positive and negative."""
    random = np.random.default_rng(0)
    a = varied(np.full(512, 2 + 2j, np.complex64), "zeros", random, dt.complex64)
    assert {
        (x.real > 0, bool(np.signbit(x.imag))) for x in a if x.real != 0 == x.imag
    } == {(True, True), (True, False), (False, True), (False, False)}


@pytest.mark.parametrize("dtype", [dt.complex64, dt.complex128], ids=str)
def test_squares_of_great_numbers_leave_their_format(dtype: dt.dtype) -> None:
    """And the moduli of complex ones do not."""
    random = np.random.default_rng(0)
    a = varied(np.full(64, 2 + 2j, dtype.numpy), "great", random, dtype)
    with np.errstate(over="ignore"):
        squares = a.real * a.real + a.imag * a.imag
    assert np.any(np.isinf(squares))
    assert np.all(np.isfinite(np.abs(a)))


@pytest.mark.parametrize("shape", [(40,), (9, 12), (4, 5, 12)])
def test_halves_of_balanced_lines_leave_float16(shape: tuple[int, ...]) -> None:
    """Along a line the sums go beyond the format, and come back to what it holds."""
    random = np.random.default_rng(0)
    a = varied(np.ones(shape, np.float16), "balanced", random, dt.float16)
    sums = np.cumsum(a.astype(np.float64), axis=-1)
    assert np.all(np.isfinite(a))
    assert np.max(np.abs(sums)) > np.finfo(np.float16).max
    assert np.all(np.abs(sums[..., -1]) < np.finfo(np.float16).max)


def test_lone_special_values_are_at_each_place() -> None:
    """One a row, in the last place first, and in each other in turn."""
    random = np.random.default_rng(0)
    a = varied(np.ones((7, 7), np.float32), "lone", random, dt.float32)
    places = [int(np.argmax(row != 1)) for row in a]
    assert places == [6, 0, 1, 2, 3, 4, 5]
    assert np.sum(a != 1) == 7
    assert np.isnan(a[0, 6])
    assert np.sum(np.isfinite(a) & (np.abs(a) > 1e9)) > 0


def test_pairs_meet() -> None:
    """Each special number is on either side of each in a call of two operands."""
    calls = drawing.examples(CPU, vocabulary["maximum"], dt.float32, STANDARD)
    met: set[tuple[float, ...]] = set()
    for call in calls:
        if call.values == PAIRS:
            a, b = np.broadcast_arrays(*call.arrays()[:2])
            both = np.stack([a.ravel(), b.ravel()], 1).astype(np.float64)
            met |= {(*map(named, row),) for row in both}
    wanted = [-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, math.nan]
    missing = [(x, y) for x in map(named, wanted) for y in map(named, wanted)]
    assert not [pair for pair in missing if pair not in met]


def named(x: float) -> str:
    """A number such that -0 is not 0, and NaN is NaN."""
    return str(abs(x)) if math.isnan(x) else str(float(x))


def test_equal_operands_differ_in_bits() -> None:
    """Operands are equal by == in all places or half, and zeros differ in sign."""
    pairs = [
        np.broadcast_arrays(*call.arrays()[:2])
        for op in ("maximum", "eq", "lt", "sub")
        for call in drawing.examples(CPU, vocabulary[op], dt.float32, STANDARD)
        if call.values == EQUAL
        and presence.has_values(vocabulary[op], dt.float32, call)
    ]
    same = [(a, b) for a, b in pairs if a.size > 1]
    shares = [float(np.mean(a == b)) for a, b in same]
    assert max(shares) == 1
    assert 0.3 < min(shares) < 0.8
    assert any(np.any(np.signbit(a) != np.signbit(b)) for a, b in same)


def test_special_values_are_in_one_argument_alone() -> None:
    """Of two operands each is special in a call in which the other is ordinary."""
    alone = set()
    for op in ("maximum", "mul", "normalise_backward"):
        for call in drawing.examples(CPU, vocabulary[op], dt.float32, STANDARD):
            finite = [bool(np.all(np.isfinite(a))) for a in call.arrays()[:2]]
            alone.add(tuple(finite))
    assert {(True, False), (False, True), (False, False)} <= alone


def test_indices_and_distinct_values_are_of_the_class() -> None:
    """Indices come to lie at the ends of their range, distinct values at infinity."""
    make = drawing.Varied(vocabulary["sort"], dt.float32, "special", sizes.AS_NAMED, 1)
    made = make.distinct(6, 6)
    assert not np.all(np.isfinite(made))
    assert len(np.unique(made)) == made.size
    make.values = "extreme"
    ends = Counter(make.ints(400, low=0, high=50).tolist())
    assert ends[0] > 50
    assert ends[49] > 50


def test_products_of_integers_pass_their_format() -> None:
    """Of wide 32-bit integers, products pass 2^31 and each fits itself."""
    random = np.random.default_rng(0)
    a = varied(np.ones(512, np.int64), "wide", random, dt.int64)
    b = varied(np.ones(512, np.int32), "wide", random, dt.int32).astype(np.int64)
    assert np.any(np.abs(b * b[::-1]) > 1 << 31)
    assert np.any(np.abs(a) > 1 << 40)


def test_covering_ticks_what_was_drawn() -> None:
    """A row that came to less leaves the rest open, and is asked for again."""
    covering = Covering({"a": ("x", "y"), "b": ("u", "v")}, 0)
    first = covering.wanted()
    covering.missed(first, {"a": first["a"]})
    covering.tick({"a": first["a"]})
    assert covering.worth(first) > 0
    assert covering.in_vain() == [("b", first["b"])]
    covering.tick(first)
    assert covering.worth(first) == 0


def test_covering_leaves_out_nothing() -> None:
    """If every row can be drawn, few rows cover all pairs, the first all levels."""
    factors = {"a": "12345", "b": "123", "c": "1234"}
    covering = Covering({k: tuple(v) for k, v in factors.items()}, 0)
    rows = []
    for _ in range(30):
        rows.append(covering.wanted())
        covering.tick(rows[-1])
    assert {row["a"] for row in rows[:5]} == set("12345")
    assert len({(row["a"], row["c"]) for row in rows}) == 20
    assert len({(row["a"], row["b"]) for row in rows}) == 15


def test_empty_calls_have_no_layout_to_cover() -> None:
    """A call without elements counts for being empty and for nothing else."""
    calls = drawing.examples(CPU, vocabulary["exp"], dt.float32, STANDARD)
    empty = [c for c in calls if c.size == EMPTY]
    assert empty
    told = [presence.reached(vocabulary["exp"], dt.float32, c) for c in empty]
    assert all(set(t) == {"size"} for t in told if t.get("layout") not in LAYOUTS)
