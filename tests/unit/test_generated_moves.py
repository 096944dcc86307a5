"""Generated copies from any strides to any others, and the ops made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.c_compiler import COMPILER, Compiled
from tests.support.generated import guarded, untouched

import dovetail
from dovetail.codegen import eager_moves, moves
from dovetail.codegen.eager_moves import moved
from dovetail_cpu.generated import LEAST

Array = np.ndarray[Any, Any]
DTYPES = ("uint8", "bool", "int16", "float32", "float64", "complex64", "complex128")
LANES = (1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 1000)

LIES: dict[str, Callable[[Array], Array]] = {
    "in a row": lambda a: a[0, 0, 0],
    "rows": lambda a: a[0, 0, :, 1:],
    "blocks of rows": lambda a: a[:, 1, :, :-1],
    "in four dims": lambda a: a[:, :2, ::2, :-1],
    "backwards": lambda a: a[0, 0, ::-1, ::-1],
    "apart": lambda a: a[1, :, :, ::2],
    "apart backwards": lambda a: a[1, 0, :, ::-3],
    "one number": lambda a: np.broadcast_to(a[0, 0, 0, :1], a.shape[1:]),
    "rows of one": lambda a: np.broadcast_to(a[0, 0, :, :1], a.shape[1:]),
    "one row": lambda a: a[0, 0, :1],
    "turned": lambda a: a[0, 0].T,
}


def drawn(dtype: str, *shape: int) -> Array:
    """Whole numbers."""
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


@pytest.fixture
def threads() -> Iterator[None]:
    """Three threads share the work."""
    before = dovetail.get_num_threads()
    dovetail.set_num_threads(3)
    yield
    dovetail.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("lies", LIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_moves_are_right_and_write_nothing_beside(dtype: str, lies: str) -> None:
    """However a source lies, into rows and into rows with gaps; rows of any length."""
    served = 0
    for lanes in LANES:
        x = LIES[lies](drawn(dtype, 2, 3, 34, 2 * lanes))
        for gap in (0, 3):
            sizes = (*x.shape[:-1], x.shape[-1] + gap)
            memory, inner = guarded(int(np.prod(sizes)), dtype, 1)
            inner[:] = 1
            y = inner.reshape(sizes)[..., : x.shape[-1]]
            if moved(y, x):
                served += 1
                np.testing.assert_array_equal(y, x)
            beside = inner.reshape(sizes)[..., x.shape[-1] :]
            assert (beside == 1).all()
            assert untouched(memory, inner)
    # Pairs of words are moved where they lie side by side.
    assert served or dtype == "complex128"


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("step", [1, -1, 2, -2])
def test_long_rows_are_cut_into_parts(step: int) -> None:
    """A part begins where the one before ends, whatever is left for the last."""
    for lanes in (65_537, 100_003, 300_000):
        x = drawn("float32", 2 * lanes)[::step][:lanes]
        for y in (np.zeros(lanes, np.float32), np.zeros((2, lanes), np.float32)):
            assert moved(y, x)
            np.testing.assert_array_equal(y, np.broadcast_to(x, y.shape))


def test_what_kernels_do_not_move_is_left() -> None:
    """Short rows, columns that are written, five dims, and odd addresses."""
    x = np.zeros((3, 2, 3, 2, 3, 40), np.float32)
    odd = np.zeros(4001, np.uint8)[1:].view("float32")
    packed = np.zeros(100, np.dtype([("a", "u1"), ("b", "f4")]))["b"]
    for y, of in (
        (np.zeros((50, 2), np.float32), np.zeros((50, 4), np.float32)[:, :2]),
        (np.zeros((50, 50), np.float32)[:, ::2], np.zeros((50, 25), np.float32)),
        (np.zeros((3, 2, 3, 2, 3, 20), np.float32), x[:, ::-1, :, ::-1, :, ::2]),
        (np.zeros(100, np.float32), packed),
        (np.zeros((0, 100), np.float32), np.zeros((0, 100), np.float32)),
    ):
        assert not moved(y, of)
    assert moved(np.zeros(1000, np.float32), odd)


CALLS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array]]] = {
    "contiguous": (lambda t: t.contiguous(), np.array),
    "cast": (lambda t: t.to(dovetail.float64), lambda x: x.astype(np.float64)),
    "cat": (lambda t: dovetail.cat((t, t[:1], t)),
            lambda x: np.concatenate((x, x[:1], x))),
    "cat of columns": (lambda t: dovetail.cat((t, t[..., :5]), -1),
                       lambda x: np.concatenate((x, x[..., :5]), -1)),
    "stack": (lambda t: dovetail.stack((t, t, t), 1), lambda x: np.stack((x,) * 3, 1)),
    "repeat": (lambda t: t.repeat(2, 1, 3), lambda x: np.tile(x, (2, 1, 3))),
    "roll": (lambda t: dovetail.roll(t, (3, -1, 2), (1, 0, 1)),
             lambda x: np.roll(x, (3, -1, 2), (1, 0, 1))),
    "roll of all": (lambda t: dovetail.roll(t, 7), lambda x: np.roll(x, 7)),
    "flip": (lambda t: t.flip(0, 1), lambda x: x[::-1, ::-1]),
    "pad": (lambda t: dovetail.nn.functional.pad(t, (1, 2, -3, 4), value=5),
            lambda x: np.pad(x[3:], ((0, 4), (1, 2)), constant_values=5)),
}  # fmt: skip
VIEWS: dict[str, Callable[[Any], Any]] = {
    "in rows": lambda a: a, "apart": lambda a: a[:, ::2], "with gaps": lambda a: a[1:],
    "turned": lambda a: a.T, "a column": lambda a: a[:, 1:2] + 0 * a[:1],
}  # fmt: skip


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("call", CALLS)
def test_large_calls_are_those_of_numpy(
    call: str, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is served by kernels, gives what NumPy gives, and lies as torch's does."""
    asked: list[bool] = []
    monkeypatch.setattr(
        eager_moves, "moved", lambda y, x: asked.append(moved(y, x)) or asked[-1]
    )
    ours, theirs = CALLS[call]
    x = drawn("float32", 700, 600)
    assert x.size >= LEAST
    y = ours(VIEWS[view](dovetail.from_numpy(x)))
    np.testing.assert_array_equal(y.numpy(), theirs(VIEWS[view](x)))
    assert y.is_contiguous() or call in ("flip", "cast")
    direct = call in ("contiguous", "cast") and view != "apart"
    assert any(asked) or direct


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_as_c_they_do_the_same(tmp_path: Path) -> None:
    """The same kernels written as C copy the same elements."""
    x = drawn("uint32", 40, 70)
    sources = [x[:, :33], x[::-1, ::-1], x[:, ::2], np.broadcast_to(x[:, :1], x.shape)]
    plans = []
    for a in sources:
        step, lane_step = (s // 4 for s in a.strides)
        plan = moves.planned(a.shape, (step, lane_step), (a.shape[1] + 3, 1), 4)
        assert plan is not None
        plans.append(plan)
    forms = [moves.moved("uint32", plan.kind, plan.parts) for plan in plans]
    library = Compiled(tmp_path, forms)
    for number, (a, plan) in enumerate(zip(sources, plans, strict=True)):
        y = np.zeros((len(a), a.shape[1] + 3), np.uint32)
        library.call(number, [a, y], plan.items, *plan.words)
        np.testing.assert_array_equal(y[:, :-3], a)
        assert not y[:, -3:].any()
