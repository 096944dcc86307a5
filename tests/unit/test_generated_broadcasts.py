"""Operands that are many, or are broadcast to many: by a kernel, what NumPy gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt

pytest.importorskip("llvmlite")

from dovetail.codegen.runtime.gates import gate
from dovetail_cpu.generated_broadcasts import (
    BROADCAST_OPS,
    EXTREME_OPS,
    MOVED_OPS,
    QUICKER_OPS,
)
from dovetail_cpu.generated_pointwise import Generated

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

UFUNCS = {"sub": "subtract", "mul": "multiply", "div": "divide", "lt": "less",
          "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
          "ne": "not_equal", "neg": "negative"}  # fmt: skip
MUCH = 140_001  # elements that several threads share
# (one operand, the other): rows, columns, blocks of rows, dims between, many dims.
SHAPES: list[tuple[Shape, Shape]] = [
    ((300, 130), (130,)), ((130,), (300, 130)), ((300, 1), (130,)),
    ((300, 130), (300, 1)), ((9, 40, 70), (9, 1, 70)), ((9, 40, 70), (40, 1)),
    ((9, 1, 70), (9, 40, 1)), ((9, 1, 70), (1, 40, 70)),
    ((5, 6, 1, 7, 64), (6, 8, 1, 1)), ((30_000, 1), (2,)), ((2, 1), (30_000,)),
    ((1, 20_000), (1,)), ((0, 300), (300,)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def kernels() -> None:
    """There is a kernel, after which builtins ask."""
    dt.exp(dt.ones(1 << 15))


@pytest.fixture
def served(kernels: None, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether a kernel served, for each call that asked one."""
    calls: list[bool] = []
    own = Generated.__call__

    def counted(self: Generated, *given: Any) -> Any:
        y = own(self, *given)
        calls.append(y is not None)
        return y

    monkeypatch.setattr(Generated, "__call__", counted)
    return calls


def values(shape: Shape, dtype: str, seed: int) -> Array:
    """Numbers of all sorts, some of them alike."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 9, shape) / 4
    special = rng.choice([-0.0, np.inf, -np.inf, np.nan], shape)
    return np.where(rng.random(shape) < 0.1, special, x).astype(dtype)


def same(ours: dt.Tensor, theirs: Array) -> None:
    """To the bit, but for which NaN it is."""
    found = ours.numpy()
    assert found.dtype == theirs.dtype
    np.testing.assert_array_equal(found, theirs)
    if found.dtype.kind == "f":
        number = ~np.isnan(theirs)
        assert (np.signbit(found) == np.signbit(theirs))[number].all()


@pytest.mark.parametrize("op", BROADCAST_OPS)
def test_results_are_those_of_ieee_754(op: str) -> None:
    """Whatever the shapes, in both precisions: the bits that NumPy gives."""
    ours, theirs = getattr(dt, op), getattr(np, UFUNCS.get(op, op))
    for shapes in SHAPES:
        for dtype in ("float32", "float64"):
            a, b = (values(s, dtype, i) for i, s in enumerate(shapes))
            with np.errstate(all="ignore"):
                same(ours(dt.from_numpy(a), dt.from_numpy(b)), theirs(a, b))


@np.errstate(invalid="ignore")
def test_operands_may_lie_anyhow() -> None:
    """Transposed, apart, and of other dtypes; results lie as NumPy's do."""
    x = values((180, 220), "float32", 3)
    row, column = values((220,), "float32", 4), values((180, 1), "float32", 5)
    for a in (x[:, ::2], x.T, x[3::2, 1:]):
        whole = np.resize(row, a.shape[1]), np.resize(column, (a.shape[0], 1)), row[:1]
        for b in whole:
            y = dt.from_numpy(a) + dt.from_numpy(b)
            same(y, a + b)
            assert y.numpy().strides == (a + b).strides
    counted = dt.arange(40_000).reshape(200, 200) + dt.arange(200)
    same(counted, np.arange(40_000).reshape(200, 200) + np.arange(200))
    mixed = dt.from_numpy(x) * dt.from_numpy(row.astype(np.float64))
    same(mixed, x.astype(np.float64) * row.astype(np.float64))


def test_a_kernel_serves(served: list[bool]) -> None:
    """What is broadcast to many elements, and nothing else, is generated."""
    row, column = dt.ones(300), dt.ones(200, 1)
    assert (row + column).shape == (200, 300)
    assert served == [True]
    assert (row + column[:9]).shape == (9, 300)
    assert (row + row).shape == (300,)
    assert served == [True]


def test_other_calls_are_what_they_were() -> None:
    """Writes in place and into `out`, numbers, gradients, refusals."""
    x, row = dt.ones(200, 300), dt.arange(300.0)
    y = x.clone()
    y += row
    assert dt.equal(y, x + row)
    out = dt.empty(200, 300)
    assert dt.add(x, row, out=out) is out
    assert dt.equal(out, y)
    assert dt.equal(x * 3, x + 2)
    w = row.clone().requires_grad_()
    (x * w).sum().backward()
    assert w.grad is not None
    assert dt.equal(w.grad, dt.full((300,), 200.0))
    with pytest.raises(dt.errors.ShapeError, match="300 in input but 299"):
        x + row[1:]


@pytest.fixture
def _two_threads() -> Iterator[None]:
    before = dt.get_num_threads()
    dt.set_num_threads(2)
    yield
    dt.set_num_threads(before)


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [*BROADCAST_OPS, *MOVED_OPS, *QUICKER_OPS])
def test_much_is_shared_by_threads(op: str, dtype: str, served: list[bool]) -> None:
    """Operands of one shape: the bits that NumPy gives, however they lie."""
    ours, theirs = getattr(dt, op), getattr(np, UFUNCS.get(op, op))
    count = 2 if op in BROADCAST_OPS else 1
    flat = [values((MUCH,), dtype, i) for i in range(count)]
    whole = [a[:140_000].reshape(350, 400) for a in flat]
    cases = [flat, whole, [a.T for a in whole], [a[:, ::-1] for a in whole]]
    for given in cases:
        with np.errstate(all="ignore"):
            want = theirs(*given)
            same(ours(*map(dt.from_numpy, map(np.ascontiguousarray, given))), want)
            lying = [dt.from_numpy(np.ascontiguousarray(a.T)).t() for a in given]
            same(ours(*lying), want)
    assert len(served) == 2 * len(cases)


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("op", EXTREME_OPS)
def test_extremes_of_many(op: str, dtype: str, served: list[bool]) -> None:
    """NaN wins, and +0 is the larger zero; integers are NumPy's."""
    ours, theirs = getattr(dt, op), getattr(np, op)
    for shapes in (((MUCH,), (MUCH,)), ((500, 300), (300,)), ((500, 1), (300,))):
        a, b = (values(s, "float64", i) for i, s in enumerate(shapes))
        if dtype == "int64":
            a, b = (np.nan_to_num(x, posinf=9, neginf=-9) for x in (a, b))
        a, b = a.astype(dtype), b.astype(dtype)
        found = ours(dt.from_numpy(a), dt.from_numpy(b)).numpy()
        np.testing.assert_array_equal(found, theirs(a, b))
        if dtype != "int64":
            both = np.signbit(a) & np.signbit(b)
            negative = both if op == "maximum" else np.signbit(a) | np.signbit(b)
            zeros = (a == 0) & (b == 0)
            np.testing.assert_array_equal(np.signbit(found)[zeros], negative[zeros])
    assert len(served) == (0 if dtype == "int64" else 3)


@pytest.mark.usefixtures("_two_threads")
def test_much_of_other_kinds_is_what_it_was() -> None:
    """Integers, two dtypes, a number without dims, writes in place, gradients."""
    a = values((MUCH,), "float32", 0)
    x, n = dt.from_numpy(a), dt.arange(MUCH)
    with np.errstate(all="ignore"):
        same(n + n, 2 * np.arange(MUCH))
        same(abs(-n), np.arange(MUCH))
        same(x * dt.from_numpy(a.astype(np.float64)), a * a.astype(np.float64))
        same(x + dt.tensor(0.5), a + np.float32(0.5))
        same(dt.tensor(0.5) / x, np.float32(0.5) / a)
        out = dt.empty(MUCH)
        assert dt.abs(x, out=out) is out
        same(out, np.abs(a))
    w = dt.full((MUCH,), 4.0, requires_grad=True)
    w.sqrt().sum().backward()
    assert w.grad is not None
    assert dt.equal(w.grad, dt.full((MUCH,), 0.25))
    with pytest.raises(dt.errors.ShapeError, match="140001 in input but 140000"):
        x + x[1:]


def test_one_thread_is_numpy_s(served: list[bool]) -> None:
    """A kernel would gain nothing, but for roots, which take half of the time."""
    before = dt.get_num_threads()
    dt.set_num_threads(1)
    try:
        x = dt.ones(MUCH)
        assert dt.equal(abs(x) + x, x * 2)
        assert not served
        x.sqrt()
        assert served == [True]
    finally:
        dt.set_num_threads(before)


@pytest.mark.usefixtures("_two_threads")
def test_round_is_numpy_s(served: list[bool]) -> None:
    """Its body has several steps, which cost more than a second thread saves."""
    x = dt.from_numpy(values((MUCH,), "float32", 0))
    same(x.round(), np.rint(x.numpy()))
    assert not served


def test_the_builtin_asks_for_much() -> None:
    """One array or two, of one shape or with one of no dims; never with names."""
    called: list[str] = []
    asks = gate(
        lambda *given, **named: called.append("small"),
        lambda *given: called.append("large"), 10, 100,
    )  # fmt: skip
    assert asks is not None
    whole, little = np.zeros((10, 10)), np.zeros((9, 11))
    large: list[tuple[Any, ...]] = [
        (whole,), (whole, whole), (whole, np.zeros(())), (np.zeros(()), whole),
        (little, np.zeros((9, 1))),
    ]  # fmt: skip
    for given in large:
        asks(*given)
    assert called == ["large"] * 5
    called.clear()
    small: list[tuple[Any, ...]] = [
        (little,), (little, little), (little, np.zeros(())), (whole, 1.0), (1.0,),
        (whole, whole, whole), (np.ma.array(whole),), (np.zeros(()),), (),
    ]  # fmt: skip
    for given in small:
        asks(*given)
    asks(whole, out=whole)
    assert called == ["small"] * 10


def test_the_builtin_asks_for_sizes() -> None:
    """Arrays of several shapes, with dims, and many elements: nothing else is large."""
    called: list[str] = []
    asks = gate(
        lambda *given, **named: called.append("small"),
        lambda *given: called.append("large"), 100,
    )  # fmt: skip
    assert asks is not None
    row, column = np.zeros(25), np.zeros((4, 1))
    for a, b in ((row, column), (column, row), (np.zeros((4, 25)), row)):
        asks(a, b)
    assert called == ["large"] * 3
    called.clear()
    whole = np.zeros((20, 20))
    small: list[tuple[Any, ...]] = [
        (row, column[:3]), (whole, whole), (whole, np.zeros(())), (whole, 1.0),
        (whole,), (whole, row, row), (whole, np.ma.array([1.0])), (),
    ]  # fmt: skip
    for given in small:
        asks(*given)
    asks(row, column, out=whole)
    assert called == ["small"] * 9


def test_errors_go_through_the_builtin() -> None:
    """What the function that serves raises is what its caller sees."""

    def refuses(a: Any, b: Any) -> Any:
        raise KeyError("no")

    asks = gate(refuses, refuses, 10)
    assert asks is not None
    for b in (np.zeros(3), np.zeros((4, 1))):
        with pytest.raises(KeyError):
            asks(np.zeros(3), b)
