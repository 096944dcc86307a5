"""Lists as indices, which stand for a tuple where they hold more than numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dt

X = dt.arange(60).reshape(3, 4, 5)
ENTRIES: st.SearchStrategy[Any] = st.one_of(
    st.integers(-3, 2), st.none(), st.just(...), st.just(slice(None)),
    st.builds(slice, st.integers(0, 2), st.integers(1, 3)),
    st.lists(st.integers(0, 2), min_size=2, max_size=2),
    st.lists(st.integers(0, 2), min_size=2, max_size=2).map(tuple),
    st.lists(st.integers(0, 2), min_size=2, max_size=2).map(dt.tensor),
    st.lists(st.integers(0, 2), min_size=2, max_size=2).map(np.array),
)  # fmt: skip


def taken(index: Any) -> Any:
    """What an index gives, or the class of what it raises."""
    try:
        return X[index].tolist()
    except Exception as error:
        return type(error)


@given(st.lists(ENTRIES, min_size=1, max_size=4))
def test_lists_of_more_than_numbers_are_tuples(index: list[Any]) -> None:
    """And those of numbers alone are places along the first dim."""
    numbers = all(type(e) is int for e in index)
    assert taken(index) == taken(dt.tensor(index) if numbers else tuple(index))


def test_writes_by_lists() -> None:
    """They go where a tuple would."""
    x, want = dt.zeros(3, 4), dt.zeros(3, 4)
    x[[[0, 1], [2, 3]]] = 1
    want[[0, 1], [2, 3]] = 1
    x[[slice(2, 3), ...]] = 2
    want[2] = 2
    assert dt.equal(x, want)
    assert x.sum().item() == 10


def test_long_lists_are_places() -> None:
    """Whatever is in them, as for NumPy once."""
    rows = [[i % 3, 0] for i in range(32)]
    assert X[rows].shape == (32, 2, 4, 5)
    assert X[rows[:2]].shape == (2, 5)


def test_shapes_are_of_ints() -> None:
    """Of what stands for one, and of nothing else."""
    made = dt.Size([1, dt.tensor(3), np.int64(2), True])
    assert made == (1, 3, 2, 1)
    assert all(type(size) is int for size in made)
    for wrong in ([2.0], ["a"], [None], [dt.tensor(1.0)], [dt.tensor([1, 2])]):
        with pytest.raises(TypeError, match="Size"):
            dt.Size(wrong)
