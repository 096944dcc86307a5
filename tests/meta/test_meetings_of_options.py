"""Calls in which options, sizes and members meet as they do in no case of an op."""

from __future__ import annotations

import itertools

import pytest

import dovetail as dt
from dovetail.conformance.large_matrices import large_matrices
from dovetail.conformance.odd_sizes import odd_sizes
from dovetail.conformance.one_long import in_both_orders
from dovetail.conformance.options import Crossing
from dovetail.conformance.other_orders import other_orders
from dovetail.engine.op import vocabulary


@pytest.mark.parametrize("name", ["solve_triangle", "cross_entropy", "avg_pool"])
def test_options_of_as_many_levels_meet_in_all_pairs(name: str) -> None:
    """As numbers go on no two options go in step."""
    crossing = Crossing(vocabulary[name], dt.float32, 0)
    levels = {n: len(v) for n, v in crossing.levels.items()}
    made = [crossing.turned(number, 0).values for number in range(2048)]
    alike = [
        (a, b) for a, b in itertools.combinations(levels, 2) if levels[a] == levels[b]
    ]
    pairs = [
        (a, b) for a, b in alike if all(a in values and b in values for values in made)
    ]
    for a, b in pairs:
        met = {(repr(values[a]), repr(values[b])) for values in made}
        assert len(met) == levels[a] * levels[b], (a, b)
    assert pairs or name != "solve_triangle"


def test_small_matrices_meet_many_right_hand_sides() -> None:
    """Past a block of them, under several options."""
    calls = list(large_matrices(vocabulary["solve_triangle"], dt.float32, 0))
    pairs = [[a.shape for a in c.arrays()] for c in calls]
    beside = [b[-1] for a, b in pairs if a[-1] < 16]
    assert {35, 67} <= set(beside)


def test_members_begin_with_another_one() -> None:
    """A member without elements is also in front, and along another dim."""
    calls = list(other_orders(vocabulary["cat"], dt.float32, 0))
    empty = {
        (next(i for i, a in enumerate(c.arrays()) if not a.size), c.case.args[1])
        for c in calls
        if c.case and any(not a.size for a in c.arrays())
    }
    assert len({place for place, _ in empty}) > 1
    assert len({dim for _, dim in empty}) > 1


def test_odd_sizes_lie_column_by_column_too() -> None:
    """Both of the same call; some sizes are one past whole blocks."""
    op = vocabulary["matmul"]
    largest = 1 << 16
    calls = list(in_both_orders(op, dt.float32, odd_sizes(op, dt.float32, largest, 0)))
    assert {c.layout for c in calls} > {"contiguous"}
    sizes = {n for c in calls for a in c.arrays() for n in a.shape}
    assert any(n > 8 and n % 8 == 1 for n in sizes)
