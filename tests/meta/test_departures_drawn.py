"""What generated calls have beyond the sizes and options that their op's cases name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.meta.test_geometry_drawn import drawn

import dovetail as dt
from dovetail.conformance.departures import departures
from dovetail.conformance.example import PLAIN
from dovetail.conformance.subject import Subject
from dovetail.engine.cases import case
from dovetail.engine.op import vocabulary

Array = np.ndarray[Any, Any]


def lies_row_by_row(name: str) -> Iterator[list[bool]]:
    """Of matrices in one list, in calls that have a layout: whether row by row."""
    op, subject = vocabulary[name], Subject("cpu")
    for call in (*drawn(op), *drawn(op, dt.float64)):
        if call.layout not in (PLAIN, "offset"):
            args, _ = subject.arguments(op, call, dt.float32)
            parts = next(v for v in args if isinstance(v, list))
            arrays = [x._a for x in parts if x._a.ndim > 1 and min(x._a.shape) > 1]
            yield [a.flags.c_contiguous for a in arrays]


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_members_of_a_list_lie_in_ways_of_their_own(name: str) -> None:
    """The first row by row and the next not, the other way round, or none of them."""
    found = {(plain[0], plain[1]) for plain in lies_row_by_row(name) if len(plain) > 1}
    assert found >= {(True, False), (False, True), (False, False)}


def test_a_call_lies_alike_whenever_it_is_repeated() -> None:
    """The layouts of a list's members follow from the call alone."""
    first, second = (list(lies_row_by_row("cat")) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("columns", [1, 2])
def test_zeros_of_both_signs_are_in_rows_to_compare(columns: int) -> None:
    """What a case makes of integers has zeros that differ in nothing but the sign."""
    calls = [c for c in drawn(vocabulary["unique"]) if c.values == "zeros"]
    arrays = [c.case.args[0] for c in calls if c.case]
    met = {
        (at, sign)
        for a in arrays if a.shape[1] == columns
        for at in range(columns) for sign in np.signbit(a[a[:, at] == 0, at])
    }  # fmt: skip
    assert met == {(at, sign) for at in range(columns) for sign in (False, True)}


@pytest.mark.parametrize(
    ("name", "option"), [("topk", "k"), ("ranked", "rank"), ("tril", "diagonal")]
)
def test_counts_grow_with_what_they_count(name: str, option: str) -> None:
    """An option that counts elements passes what kernels keep in registers."""
    op = vocabulary[name]
    calls = [c.case for c in drawn(op) if c.case]
    named = [dict(zip(op.names, c.args, strict=False)) | c.kwargs for c in calls]
    given = {call[option] for call in named if option in call}
    assert max(given) > 17
    assert len([n for n in given if n > 17]) > 1


@pytest.mark.parametrize("name", ["gather", "scatter_add"])
def test_an_index_is_narrower_than_what_it_points_into(name: str) -> None:
    """Along the first dim with fewer columns, and along the last with fewer rows."""
    op = vocabulary[name]
    met = set()
    for call in drawn(op):
        assert call.case is not None
        x, dim, index = call.case.args[:3]
        if index.ndim > 1 and index.size:
            others = [d for d in range(x.ndim) if d != dim % x.ndim]
            met |= {
                (dim % x.ndim == 0, d == x.ndim - 1)
                for d in others if index.shape[d] < x.shape[d]
            }  # fmt: skip
    assert {(True, True), (False, False)} <= met


def test_departures_are_what_the_op_takes() -> None:
    """A call that departs has all its operands; others stay as the case has them."""
    call = case(np.arange(40.0), 4)
    found = [list(departures(vocabulary["topk"], call, n)) for n in range(20)]
    counts = {c.args[1] for calls in found for c in calls}
    assert counts
    assert all(16 < k <= 40 for k in counts)
    assert [] in found
    assert all(c.args[0] is call.args[0] for calls in found for c in calls)


def test_calls_of_a_number_are_the_same_again() -> None:
    """Departures follow from the number of a row, not from what was drawn before."""
    op, call = vocabulary["topk"], case(np.arange(64.0), 4)
    twice = [[c.args[1] for c in departures(op, call, 5)] for _ in range(2)]
    assert twice[0] == twice[1]


@pytest.mark.parametrize("name", ["adam_steps_", "sgd_steps_", "cat", "stack"])
def test_lists_pass_what_a_launch_takes(name: str) -> None:
    """Some have one member more than 8 to 32, and some a few more than 64 or 128.

    All lists of a call have as many.
    """
    op = vocabulary[name]
    calls = drawn(op)
    found = set()
    for call in calls:
        args = call.case.args if call.case is not None else ()
        lists = {len(v) for v in args if isinstance(v, list) and v}
        assert len(lists) < 2
        found |= lists
    assert found & {9, 17, 33}, found
    assert found & {67, 131}, found
