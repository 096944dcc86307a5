"""Generated copies of some elements: by masks, of triangles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.c_compiler import COMPILER, Compiled
from tests.support.generated import guarded, untouched

import dovetail
from dovetail.codegen import eager_partial_copies, partial_copies
from dovetail.codegen.eager_partial_copies import selected, triangle
from dovetail_cpu.generated import LEAST
from dovetail_cpu.generated_partial_copies import PARTIAL_COPIES

Array = np.ndarray[Any, Any]
DTYPES = ("float32", "float64", "uint8", "int16", "bool")
PART = 1 << 14


def drawn(dtype: str, *shape: int, seed: int = 0) -> Array:
    """Whole numbers."""
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


class _Guarded:
    """NumPy whose new arrays lie between bytes that nobody may write."""

    def __init__(self) -> None:
        self.made: list[tuple[Array, Array]] = []

    def empty(self, shape: Any, dtype: Any) -> Array:
        """An array between guards."""
        memory, inner = guarded(int(np.prod(shape)), np.dtype(dtype).name)
        self.made.append((memory, inner))
        return inner.reshape(shape)

    def empty_like(self, x: Array) -> Array:
        """An array between guards."""
        return self.empty(x.shape, x.dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@pytest.fixture(autouse=True)
def guards(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Whatever the kernels get in these tests, they write to nothing beside it."""
    found = _Guarded()
    monkeypatch.setattr(eager_partial_copies, "np", found)
    yield found
    assert all(untouched(memory, inner) for memory, inner in found.made)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
def test_a_mask_selects(dtype: str, share: float) -> None:
    """Elements and their numbers, in order, whatever share of them there is."""
    for size in (1, 15, 17, 1000, PART, PART + 1, 3 * PART - 5):
        mask = np.random.default_rng(size).random(size) < share
        x = drawn(dtype, size)
        np.testing.assert_array_equal(selected(mask, x), x[mask])
        np.testing.assert_array_equal(selected(mask, None), np.flatnonzero(mask))


def test_parts_do_not_write_to_each_other(guards: _Guarded) -> None:
    """What ends a part, selected or not, leaves the next part's elements alone."""
    before = dovetail.get_num_threads()
    try:
        for threads in (1, 3):
            dovetail.set_num_threads(threads)
            for first in (0, 1):
                mask = np.arange(8 * PART) // PART % 2 == first
                found = selected(mask, None)
                np.testing.assert_array_equal(found, np.flatnonzero(mask))
    finally:
        dovetail.set_num_threads(before)
    assert guards.made


@pytest.mark.parametrize(
    "shape", [(3, 5), (17, 33), (2, 3, 40, 31), (1, 1), (200, 100)]
)
def test_triangles(shape: tuple[int, ...]) -> None:
    """Any diagonal of any matrices."""
    for dtype in DTYPES:
        x = drawn(dtype, *shape)
        for diagonal in (-1000, -2, 0, 1, 30, 1000):
            for upper, wanted in ((True, np.triu), (False, np.tril)):
                found = triangle(x, diagonal, upper=upper)
                np.testing.assert_array_equal(found, wanted(x, diagonal))


_MASK = np.random.default_rng(3).random((160, 160)) < 0.3
CALLS: dict[str, Any] = {
    "masked_select": (
        lambda t: t[dovetail.from_numpy(_MASK)], lambda x: x[_MASK]
    ),
    "nonzero": (lambda t: t.nonzero(), lambda x: np.stack(np.nonzero(x), 1)),
    "tril": (lambda t: t.tril(3), lambda x: np.tril(x, 3)),
    "triu": (lambda t: t.triu(-3), lambda x: np.triu(x, -3)),
}  # fmt: skip


@pytest.mark.parametrize("op", PARTIAL_COPIES)
@pytest.mark.parametrize("turn", [False, True])
def test_large_calls_are_those_of_numpy(op: str, turn: bool, guards: Any) -> None:
    """Each op is served by them, and gives what NumPy gives, lying in any way."""
    x = drawn("float32", 160, 160)
    assert x.size >= LEAST
    ours, theirs = CALLS[op]
    t = dovetail.from_numpy(x.T.copy()).t() if turn else dovetail.from_numpy(x)
    np.testing.assert_array_equal(ours(t).numpy(), theirs(x))
    assert guards.made


def test_nonzero_has_an_index_for_each_dim() -> None:
    """Places of elements of any shape, and of numbers that are no bools."""
    for shape in ((40_000,), (20, 30, 40), (3, 1, 2, 4000)):
        for x in (drawn("int64", *shape) % 3, drawn("float32", *shape) > 50):
            found = dovetail.from_numpy(x).nonzero().numpy()
            np.testing.assert_array_equal(found, np.argwhere(x))


@pytest.mark.parametrize("size", [0, 1, 5, 40_000])
def test_values_without_repetitions(size: int) -> None:
    """One element of each run, where nothing else is asked for."""
    x = drawn("float32", size) // 40
    keep = np.concatenate([[True], x[1:] != x[:-1]])[:size]
    t = dovetail.from_numpy(x)
    np.testing.assert_array_equal(t.unique_consecutive().numpy(), x[keep])


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_as_c_they_do_the_same(tmp_path: Path) -> None:
    """The same kernels written as C copy the same elements."""
    forms = [
        partial_copies.mask_counts(), partial_copies.selected("uint32", False),
        partial_copies.triangle("uint32", True),
    ]  # fmt: skip
    library = Compiled(tmp_path, forms)
    x = drawn("float32", 37, 53)
    mask, y = x.reshape(-1) < 40, np.empty_like(x)
    counts, ends = np.empty(20, np.int64), np.empty(20, np.int64)
    library.call(0, [mask, counts, ends], 20, 100, mask.size)
    starts, out = np.cumsum(counts) - counts, np.empty(int(mask.sum()), np.float32)
    library.call(1, [mask, x, starts, ends, out], 20, 100, mask.size)
    np.testing.assert_array_equal(out, x.reshape(-1)[mask])
    library.call(2, [x, y], 37, 37, 53, -4)
    np.testing.assert_array_equal(y, np.triu(x, -4))
