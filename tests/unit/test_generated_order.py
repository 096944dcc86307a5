"""Generated kernels of order: sorting large arrays, stably."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.c_compiler import COMPILER, Compiled
from tests.support.generated import guarded, untouched

import dovetail
from dovetail.codegen import eager_search, eager_select, eager_sort
from dovetail.codegen.eager_search import places
from dovetail.codegen.eager_select import distinct, greatest
from dovetail.codegen.eager_sort import sorted_rows
from dovetail_cpu.generated import LEAST

Array = np.ndarray[Any, Any]
DTYPES = ("float32", "float64", "float16", "int64", "int32", "int8", "uint16", "bool")
SHAPES = ((1, 70_001), (3, 1000), (40, 191), (300, 33), (9, 2), (5, 1))
SETTINGS = ("any", "few values", "sorted", "reversed", "equal", "extremes")


def drawn(dtype: str, shape: tuple[int, int], kind: str, seed: int = 0) -> Array:
    """Numbers with NaN and zeros of both signs, in one of the orders."""
    draws = np.random.default_rng(seed)
    x = draws.standard_normal(shape) * 50
    if kind == "equal":
        return np.full(shape, 3, dtype)
    if kind == "few values":
        x = draws.integers(0, 4, shape) - 1.0
    x = x.astype(dtype)
    if kind == "extremes" and np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        x = draws.choice(
            np.array([info.min, info.max, 0, 1, info.max // 3], dtype), shape
        )
    elif np.dtype(dtype).kind == "f":
        some = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf], dtype)
        holes = draws.random(shape) < 0.1
        x[holes] = draws.choice(some, int(holes.sum()))
    if kind in ("sorted", "reversed"):
        x = np.sort(x, axis=1)
    return np.ascontiguousarray(x[:, ::-1]) if kind == "reversed" else x


def stable(x: Array, descending: bool) -> Array:
    """The places in order by NumPy's own stable sort."""
    if not descending:
        return np.argsort(x, 1, kind="stable")
    back = np.argsort(x[:, ::-1], 1, kind="stable")[:, ::-1]
    return x.shape[1] - 1 - back


def assert_sorted(x: Array, descending: bool) -> None:
    """Values to the bit, and places, are those of a stable sort."""
    values, places = sorted_rows(x, x.dtype.name, descending, values=True)
    wanted = stable(x, descending)
    np.testing.assert_array_equal(places, wanted)
    assert values is not None
    assert values.tobytes() == np.take_along_axis(x, wanted, 1).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_sorted_stably(dtype: str) -> None:
    """Whatever rows hold and however long they are: duplicates, NaN, signed zeros."""
    for shape in SHAPES:
        for kind in SETTINGS:
            for descending in (False, True):
                assert_sorted(drawn(dtype, shape, kind), descending)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=6),
    st.integers(1, 300), st.integers(0, 2**32),
)  # fmt: skip
@settings(max_examples=30, deadline=None, derandomize=True)
def test_few_wide_integers(values: list[int], lanes: int, seed: int) -> None:
    """Integers that differ in any bits are in order, equal ones as they were."""
    draws = np.random.default_rng(seed)
    assert_sorted(draws.choice(np.array(values, np.int64), (2, lanes)), False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_greatest_are_the_first_of_all_in_order(dtype: str) -> None:
    """The k greatest or least are what a stable sort puts first, NaN being greatest."""
    for shape in (*SHAPES, (2, 257), (1, 40_000)):
        for kind in SETTINGS:
            x = drawn(dtype, shape, kind)
            for k in sorted({1, 3, shape[1] // 30, shape[1]} - {0}):
                for largest in (False, True):
                    values, places = greatest(x, dtype, min(k, shape[1]), largest)
                    wanted = stable(x, largest)[:, :k]
                    np.testing.assert_array_equal(places, wanted)
                    there = np.take_along_axis(x, wanted, 1)
                    assert values.tobytes() == there.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_in_sorted_rows(dtype: str) -> None:
    """Before equal elements, or after, as NumPy has it; NaN at the end."""
    for shape in ((1, 1), (1, 2), (1, 1023), (4, 64), (3, 33)):
        rows = np.sort(drawn(dtype, shape, "few values", seed=1), axis=1)
        values = drawn(dtype, (shape[0], 5000), "few values", seed=2)
        for right in (False, True):
            found = places(rows, values, dtype, right)
            side: Any = "right" if right else "left"
            for row, value, got in zip(rows, values, found, strict=True):
                wanted = np.searchsorted(row, value, side)
                np.testing.assert_array_equal(got, wanted)


def test_large_tensors_are_searched_by_them() -> None:
    """`searchsorted` and `bucketize` of many values are those of NumPy."""
    row = np.sort(drawn("float32", (1, 300), "any"), 1)[0]
    values = drawn("float32", (170, 100), "any", seed=4)
    assert values.size >= LEAST
    t, v = dovetail.from_numpy(row), dovetail.from_numpy(values)
    wanted = np.searchsorted(row, values)
    np.testing.assert_array_equal(dovetail.searchsorted(t, v).numpy(), wanted)
    np.testing.assert_array_equal(dovetail.bucketize(v, t).numpy(), wanted)
    found = dovetail.searchsorted(t.expand(170, 300), v, right=True)
    wanted = np.searchsorted(row, values, "right")
    np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("k", [1, 7, 100])
def test_few_of_many_are_found_without_sorting(k: int, monkeypatch: Any) -> None:
    """Rows are not sorted whole where a few elements are looked for."""
    sizes: list[int] = []

    def counted(x: Array, *rest: Any, **options: Any) -> Any:
        sizes.append(x.size)
        return sorted_rows(x, *rest, **options)

    monkeypatch.setattr(eager_select, "sorted_rows", counted)
    greatest(drawn("float32", (2, 50_000), "any"), "float32", k, True)
    assert len(sizes) == 1
    assert sizes[0] < 40 * k


@pytest.mark.parametrize("dtype", sorted(set(DTYPES) - {"float16"}))
@pytest.mark.parametrize("kind", SETTINGS)
def test_distinct_elements(dtype: str, kind: str) -> None:
    """Runs of equal elements, in any order and sorted; NaN differs from NaN."""
    x = drawn(dtype, (1, 5001), kind)[0]
    starts = np.concatenate([[True], x[1:] != x[:-1]])
    values, numbers, counts = distinct(x, None)
    np.testing.assert_array_equal(values, x[starts])
    np.testing.assert_array_equal(numbers, np.cumsum(starts) - 1)
    np.testing.assert_array_equal(counts, np.bincount(np.cumsum(starts) - 1))
    order = np.argsort(x, kind="stable")
    found = distinct(x[order], order)
    wanted, often = np.unique(x, return_counts=True, equal_nan=False)
    np.testing.assert_array_equal(found[0], wanted)
    np.testing.assert_array_equal(found[0][found[1]], x)
    assert (np.diff(found[1][order]) >= 0).all()
    np.testing.assert_array_equal(found[2], often)


def test_large_tensors_have_them_too() -> None:
    """`topk` along any dim and `unique` of large tensors are those of NumPy."""
    x = np.random.default_rng(1).integers(0, 3000, (30, 40, 20)).astype(np.float32)
    assert x.size >= LEAST
    t = dovetail.from_numpy(x)
    for dim in range(3):
        values, places = t.topk(4, dim, largest=False)
        wanted = np.argsort(x, dim, kind="stable").take(range(4), dim)
        np.testing.assert_array_equal(places.numpy(), wanted)
        there = np.take_along_axis(x, wanted, dim)
        np.testing.assert_array_equal(values.numpy(), there)
    found = t.unique(return_inverse=True, return_counts=True)
    options: Any = {"return_inverse": True, "return_counts": True}
    for ours, theirs in zip(found, np.unique(x, **options), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)


def test_large_tensors_are_sorted_by_them() -> None:
    """Along any dim, lying in any way, they give what NumPy's sort gives."""
    x = drawn("float32", (130, 200), "any").reshape(130, 10, 20)
    assert x.size >= LEAST
    for given_array in (x, x.transpose(2, 0, 1), x[::-1]):
        for dim in range(3):
            t = dovetail.from_numpy(given_array.copy())
            values, places = t.sort(dim)
            wanted = np.argsort(given_array, dim, kind="stable")
            np.testing.assert_array_equal(places.numpy(), wanted)
            np.testing.assert_array_equal(t.argsort(dim, stable=True).numpy(), wanted)
            np.testing.assert_array_equal(
                values.numpy(), np.take_along_axis(given_array, wanted, dim)
            )


def test_threads_change_nothing() -> None:
    """However many threads sort, the order is the same."""
    x = drawn("float32", (1, 200_000), "few values")
    before, found = dovetail.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            dovetail.set_num_threads(threads)
            found.append(sorted_rows(x, "float32", True, values=False)[1].tobytes())
    finally:
        dovetail.set_num_threads(before)
    assert found[0] == found[1] == found[2]


class _Guarded:
    """NumPy whose `empty` arrays lie between bytes that nobody may write."""

    def __init__(self) -> None:
        self.made: list[tuple[Array, Array]] = []

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array between guards."""
        count = int(np.prod(shape))
        memory, inner = guarded(count, np.dtype(dtype).name)
        self.made.append((memory, inner))
        return inner.reshape(shape)

    def empty_like(self, x: Array) -> Array:
        """An array between guards."""
        return self.empty(x.shape, x.dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
def test_nothing_beside_is_written(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels write to their own memory alone, whatever the length of rows."""
    guards = _Guarded()
    monkeypatch.setattr(eager_sort, "np", guards)
    monkeypatch.setattr(eager_select, "np", guards)
    monkeypatch.setattr(eager_search, "np", guards)
    for shape in (*SHAPES, (7, 193), (2, 65_537)):
        x = drawn(dtype, shape, "any")
        sorted_rows(x, dtype, False, values=True)
        greatest(x, dtype, min(shape[1], 9), False)
        distinct(x[0], None)
        places(np.sort(x, 1), x, dtype, right=False)
    assert guards.made
    assert all(untouched(memory, inner) for memory, inner in guards.made)


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_as_c_they_sort_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same kernels written as C sort the same way."""
    forms: list[Any] = []

    class _AsC:
        """A kernel that is compiled from C when it is first run."""

        def __init__(self, form: Any) -> None:
            folder = tmp_path / str(len(forms))
            folder.mkdir()
            forms.append(form)
            self.form, self.library = form, Compiled(folder, [form])

        def run(self, arguments: int, count: int, grain: int) -> None:
            """Do all pieces."""
            words = len(self.form.buffers) + len(self.form.parameters)
            table = (ctypes.c_uint64 * words).from_address(arguments)
            self.library.run(0, table, count)

    monkeypatch.setattr(eager_sort, "_kernel", eager_sort.cache(_AsC))
    for shape in ((1, 70_001), (3, 1000), (40, 33)):
        assert_sorted(drawn("float64", shape, "any"), True)
    assert {form.name for form in forms} >= {"digit_moves", "ranks"}
