"""Derivatives of programs that write in place and through views, beside NumPy's jets.

A program is a list of numbers, which says what is computed of which earlier value. It
runs on tensors within transforms, and on jets: arrays of a value and its derivatives
along two directions, whose views are views of them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail import func
from dovetail.errors import AutogradError

Array = np.ndarray[Any, Any]
X = np.array([[0.3, -0.7, 1.1], [0.9, 0.4, -0.2]])
OTHER = np.array([[1.2, 0.5], [-0.4, 0.8], [0.1, -1.3]])
PARTS: tuple[Any, ...] = (
    0, -1, slice(1, None), slice(None, None, 2), (slice(None), 0),
    (slice(None), slice(1, None)), (..., slice(None, None, 2)), None,
)  # fmt: skip


class Jet:
    """Arrays by which directions they are derived: none, first, second, both."""

    def __init__(self, parts: list[Array]) -> None:
        self.parts = [np.asarray(p) for p in parts]

    def seen(self, take: Any) -> Jet:
        return Jet([take(p) for p in self.parts])

    @property
    def shape(self) -> tuple[int, ...]:
        return self.parts[0].shape

    def write(self, other: Jet) -> None:
        for own, new in zip(self.parts, [p.copy() for p in other.parts], strict=True):
            own[...] = new


def _constant(value: Array) -> Jet:
    return Jet([value.copy(), *(np.zeros_like(value) for _ in range(3))])


def _times(a: Jet, b: Jet) -> Jet:
    (a0, a1, a2, a3), (b0, b1, b2, b3) = a.parts, b.parts
    return Jet([
        a0 * b0, a1 * b0 + a0 * b1, a2 * b0 + a0 * b2,
        a3 * b0 + a1 * b2 + a2 * b1 + a0 * b3,
    ])  # fmt: skip


def _sine(a: Jet) -> Jet:
    v, s, t, both = a.parts
    slope = np.cos(v)
    return Jet([np.sin(v), slope * s, slope * t, slope * both - np.sin(v) * s * t])


class OfJets:
    """What steps do with jets."""

    def new(self, shape: tuple[int, ...]) -> Jet:
        return _constant(np.zeros(shape))

    def constant(self, value: Array) -> Jet:
        return _constant(value)

    def part(self, x: Jet, index: Any) -> Jet:
        entries = index if isinstance(index, tuple) else (index,)
        if ... not in entries:
            entries = (*entries, ...)  # a view, where NumPy would give a number
        return x.seen(lambda p: p[entries])

    def t(self, x: Jet) -> Jet:
        return x.seen(np.transpose)

    def flat(self, x: Jet) -> Jet:
        return x.seen(lambda p: np.ascontiguousarray(p).reshape(-1))

    def clone(self, x: Jet) -> Jet:
        return x.seen(lambda p: p.copy("K"))

    def rows(self, x: Jet) -> Jet:
        return x.seen(lambda p: p if p.flags.c_contiguous else p.copy())

    def times(self, a: Jet, b: Jet) -> Jet:
        return _times(a, b)

    def plus(self, a: Jet, b: Jet) -> Jet:
        return Jet([p + q for p, q in zip(a.parts, b.parts, strict=True)])

    def more(self, a: Jet) -> Jet:
        return Jet([a.parts[0] + 0.5, *(p.copy("K") for p in a.parts[1:])])

    def sine(self, a: Jet) -> Jet:
        return _sine(a)

    def total(self, a: Jet) -> Jet:
        return a.seen(lambda p: np.asarray(p.sum()))

    def sums(self, a: Jet) -> Jet:
        return a.seen(lambda p: p.cumsum(-1))

    def write(self, x: Jet, y: Jet) -> None:
        x.write(y)

    def write_part(self, x: Jet, index: Any, y: Jet) -> None:
        self.part(x, index).write(y)

    def add_(self, x: Jet, y: Jet) -> None:
        x.write(self.plus(x, y))

    def times_(self, x: Jet, y: Jet) -> None:
        x.write(_times(x, y))

    def sine_(self, x: Jet) -> None:
        x.write(_sine(x))

    def fill(self, x: Jet, value: float) -> None:
        x.write(_constant(np.full(x.shape, value)))


class OfTensors:
    """The same with tensors."""

    def new(self, shape: tuple[int, ...]) -> dt.Tensor:
        return dt.zeros(shape, dtype=dt.float64)

    def constant(self, value: Array) -> dt.Tensor:
        return dt.tensor(value).clone()

    def part(self, x: dt.Tensor, index: Any) -> dt.Tensor:
        return x[index]

    def t(self, x: dt.Tensor) -> dt.Tensor:
        return x.permute(tuple(reversed(range(x.ndim))))

    def flat(self, x: dt.Tensor) -> dt.Tensor:
        return x.contiguous().view(-1)

    def clone(self, x: dt.Tensor) -> dt.Tensor:
        return x.clone()

    def rows(self, x: dt.Tensor) -> dt.Tensor:
        return x.contiguous()

    def times(self, a: dt.Tensor, b: dt.Tensor) -> dt.Tensor:
        return a * b

    def plus(self, a: dt.Tensor, b: dt.Tensor) -> dt.Tensor:
        return a + b

    def more(self, a: dt.Tensor) -> dt.Tensor:
        return a + 0.5

    def sine(self, a: dt.Tensor) -> dt.Tensor:
        return a.sin()

    def total(self, a: dt.Tensor) -> dt.Tensor:
        return a.sum()

    def sums(self, a: dt.Tensor) -> dt.Tensor:
        return a.cumsum(-1)

    def write(self, x: dt.Tensor, y: dt.Tensor) -> None:
        x.copy_(y)

    def write_part(self, x: dt.Tensor, index: Any, y: dt.Tensor) -> None:
        x[index] = y

    def add_(self, x: dt.Tensor, y: dt.Tensor) -> None:
        x += y

    def times_(self, x: dt.Tensor, y: dt.Tensor) -> None:
        x.mul_(y)

    def sine_(self, x: dt.Tensor) -> None:
        x.sin_()

    def fill(self, x: dt.Tensor, value: float) -> None:
        x.fill_(value)


class Step(NamedTuple):
    """What is done, with which earlier values, and how."""

    what: int
    at: int
    other: int
    how: int


WHAT = (
    "part", "t", "flat", "clone", "rows", "times", "plus", "more", "sine", "total",
    "sums", "new", "constant", "write", "write_part", "add_", "times_", "sine_", "fill",
)  # fmt: skip


def run(machine: Any, x: Any, program: list[Step], constants: bool = True) -> list[Any]:
    """All that a program computes, from `x` on; what does not fit is left out."""
    kept = [machine.more(x)]
    for step in program:
        what = WHAT[step.what % len(WHAT)]
        if constants or what not in ("new", "constant"):
            _do(machine, what, step, kept)
    return kept


def _do(machine: Any, what: str, step: Step, kept: list[Any]) -> None:
    x, y = kept[step.at % len(kept)], kept[step.other % len(kept)]
    index = PARTS[step.how % len(PARTS)]
    fits = _fits(tuple(y.shape), tuple(x.shape))
    if what in ("part", "write_part"):
        if len(x.shape) > 3 or not _has_part(tuple(x.shape), index):
            return
        if what == "part":
            kept.append(machine.part(x, index))
        elif _fits(tuple(y.shape), np.zeros(tuple(x.shape))[index].shape):
            machine.write_part(x, index, y)
    elif what in ("times", "plus") and fits:
        made = getattr(machine, what)(x, y)
        kept.append(machine.rows(made))
    elif what in ("t", "flat", "clone", "rows", "more", "sine", "total"):
        kept.append(getattr(machine, what)(x))
    elif what == "sums" and x.shape:
        kept.append(machine.rows(machine.sums(x)))
    elif what == "new":
        kept.append(machine.new(tuple(x.shape)))
    elif what == "constant":
        kept.append(machine.constant(OTHER if step.how % 2 else X))
    elif what in ("write", "add_", "times_") and fits:
        getattr(machine, what)(x, y)
    elif what == "sine_":
        machine.sine_(x)
    elif what == "fill":
        machine.fill(x, 0.25 * (step.how % 5))


def _fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


def _has_part(shape: tuple[int, ...], index: Any) -> bool:
    try:
        return 0 not in np.zeros(shape)[index].shape
    except IndexError:
        return False


def _steps(most: int) -> st.SearchStrategy[list[Step]]:
    number = st.integers(0, 39)
    step = st.builds(Step, number, number, number, number)
    return st.lists(step, min_size=2, max_size=most)


def _jet(first: Array, second: Array) -> Jet:
    return Jet([X.copy(), first, second, np.zeros_like(X)])


def _wanted(program: list[Step]) -> tuple[Array, Array]:
    """Derivatives [results, x], and those of them [results, x, x]."""
    n = X.size
    units = np.eye(n).reshape(n, *X.shape)
    rows = []
    for first in units:
        of_first = []
        for second in units:
            kept = run(OfJets(), _jet(first.copy(), second.copy()), program)
            parts = [[k.parts[at].reshape(-1) for k in kept] for at in (1, 3)]
            of_first.append([np.concatenate(p) for p in parts])
        rows.append(of_first)
    slopes = np.stack([of[0][0] for of in rows], -1)
    bends = np.stack([np.stack([of[1] for of in row], -1) for row in rows], -1)
    return slopes, bends


def _all(program: list[Step]) -> Any:
    """The function of x that a program is: all results, in one row."""

    def f(x: dt.Tensor) -> dt.Tensor:
        kept = run(OfTensors(), x, program)
        return dt.cat([k.reshape(-1) for k in kept])

    return f


few = settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck)
)  # fmt: skip


def _close(found: dt.Tensor, wanted: Array) -> None:
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(
        found.numpy().reshape(wanted.shape), wanted, rtol=1e-9, atol=1e-9
    )


@few
@given(_steps(14))
def test_programs_that_write_have_the_derivatives_of_jets(program: list[Step]) -> None:
    """jvp along a direction that touches all of x, which stays as it was."""
    along, x = np.cos(X), dt.tensor(X)
    wanted = run(OfJets(), _jet(along, along * 0), program)
    moves = dt.tensor(along)
    values, moved = func.jvp(_all(program), (x,), (moves,))
    for found, at in ((values, 0), (moved, 1)):
        _close(found, np.concatenate([k.parts[at].reshape(-1) for k in wanted]))
    np.testing.assert_array_equal(moves.numpy(), along)
    np.testing.assert_array_equal(x.numpy(), X)


@contextmanager
def _refusals_allowed() -> Iterator[None]:
    """Leave out programs that write what reverse mode needs as it was."""
    try:
        yield
    except AutogradError as error:
        assume("modified by an inplace" not in str(error))
        raise


SECOND = {
    "forward over forward": (func.jacfwd, func.jacfwd),
    "forward over reverse": (func.jacfwd, func.jacrev),
    "reverse over forward": (func.jacrev, func.jacfwd),
    "reverse over reverse": (func.jacrev, func.jacrev),
}


@pytest.mark.parametrize("how", SECOND)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(_steps(10))
def test_second_derivatives_of_programs_that_write(
    how: str, program: list[Step]
) -> None:
    """Both modes over both; what reverse mode needs, and was written, is for none."""
    outer, inner = SECOND[how]
    f = _all(program)
    slopes, bends = _wanted(program)
    if "reverse" in how:
        with _refusals_allowed():
            func.jacrev(func.jacrev(f))(dt.tensor(X))
    _close(inner(f)(dt.tensor(X)), slopes)
    _close(outer(inner(f))(dt.tensor(X)), bends)


@few
@given(_steps(10))
def test_linearized_programs_that_write(program: list[Step]) -> None:
    """The function that `linearize` gives may be called again and again."""
    f = _all(program)
    slopes, _ = _wanted(program)
    with _refusals_allowed():
        _, push = func.linearize(f, dt.tensor(X))
        for along in (np.cos(X), np.sin(X)):
            _close(push(dt.tensor(along)), slopes @ along.reshape(-1))


@few
@given(_steps(14))
def test_mapped_programs_that_write(program: list[Step]) -> None:
    """vmap is a loop over rows, which sees and leaves what was written to them."""
    batch = np.stack([X, X * 2, X - 1])

    def f(x: dt.Tensor) -> dt.Tensor:
        x.mul_(2)
        kept = run(OfTensors(), x, program, False)
        x[0] = kept[0].sum()
        return dt.cat([k.reshape(-1) for k in kept])

    rows = dt.tensor(batch)
    again = [dt.tensor(row) for row in batch]
    found = dt.vmap(f)(rows)
    wanted = np.stack([f(row).numpy() for row in again])
    _close(found, wanted)
    _close(rows, np.stack([row.numpy() for row in again]))


def _squared_in_place(x: dt.Tensor) -> dt.Tensor:
    y = x.sin()
    first = y[0]  # so that others look into its memory
    y.mul_(y)
    return y + first


def _written_after_exp(x: dt.Tensor) -> dt.Tensor:
    y = x * 1
    z = y.exp()  # which keeps its result, and no more
    y[0] = 0
    return z + y


@pytest.mark.parametrize("outer", [func.jacrev, func.jacfwd])
def test_what_is_kept_of_a_written_tensor_is_kept_as_it_was(outer: Any) -> None:
    """Writes at one level do not change what the tape of another one holds."""
    x = dt.tensor(X[0])
    bends = outer(func.jacfwd(_squared_in_place))(x).numpy()
    of_square = np.diag(2 * np.cos(2 * X[0]))
    np.testing.assert_allclose(np.einsum("ijj->ij", bends), of_square + of_square[0])
    bends = outer(func.jacfwd(_written_after_exp))(x).numpy()
    np.testing.assert_allclose(np.einsum("iii->i", bends), np.exp(X[0]))


def test_tangents_of_one_row_and_of_many_meet() -> None:
    """What holds a tangent that is the same for all rows gets one for each."""

    def f(x: dt.Tensor, y: dt.Tensor) -> dt.Tensor:
        both = (y * 3).reshape(1)
        _ = both[0]  # so that others look into its memory
        both += x * y
        return both

    x, y, moves = dt.tensor(2.0), dt.tensor(5.0), dt.tensor([1.0, 10.0])
    found = dt.vmap(lambda t: func.jvp(f, (x, y), (t, dt.ones(())))[1])(moves)
    assert found.tolist() == [[10.0], [55.0]]


def test_constants_get_tangents_and_are_plain_again() -> None:
    """A tensor of outside has a tangent while the level is open that it came from."""
    total, half = dt.zeros(2), dt.ones(2) * 0.5

    def f(x: dt.Tensor) -> dt.Tensor:
        total.add_(x * x)
        return (half * 2).mul_(total)

    x, moves = dt.tensor([1.0, 3.0]), dt.tensor([1.0, 2.0])
    values, moved = func.jvp(f, (x,), (moves,))
    assert (values.tolist(), moved.tolist()) == ([1.0, 9.0], [2.0, 12.0])
    assert total.tolist() == [1.0, 9.0]
    assert repr(total) == "tensor([1., 9.])"


def test_a_dual_level_leaves_tensors_plain() -> None:
    """What was made or written while it was open keeps its values alone."""
    forward = dt.autograd.forward_ad
    kept = dt.zeros(2)
    held = []
    with forward.dual_level():
        x = forward.make_dual(dt.tensor([1.0, 2.0]), dt.tensor([3.0, 4.0]))
        kept.copy_(x)
        made = dt.ones(2)
        made += x
        held += [x * 2, (x * 3)[1:]]
        for y in (kept, made):
            assert forward.unpack_dual(y).tangent.tolist() == [3.0, 4.0]
    assert repr(kept) == "tensor([1., 2.])"
    assert repr(made) == "tensor([2., 3.])"
    assert repr(held) == "[tensor([2., 4.]), tensor([6.])]"
    assert held[0].numpy().tolist() == (dt.zeros(2) + held[0]).tolist() == [2.0, 4.0]
    assert kept.add_(held[0]).tolist() == [3.0, 6.0]
    with forward.dual_level():  # another one, in which they are constants
        x = forward.make_dual(dt.ones(2), dt.ones(2))
        assert forward.unpack_dual(held[0]).tangent is None
        assert forward.unpack_dual(held[1] * x).tangent.tolist() == [6.0, 6.0]


def test_a_tangent_that_was_handed_out_stays_as_it_was() -> None:
    """Neither the caller's nor an unpacked one is written with the tensor."""
    forward = dt.autograd.forward_ad
    along = dt.tensor([3.0, 4.0])
    with forward.dual_level():
        x = forward.make_dual(dt.ones(2), along)
        y = x * 2
        before = forward.unpack_dual(y).tangent
        y.zero_()
        x.mul_(3)
        assert forward.unpack_dual(x).tangent.tolist() == [9.0, 12.0]
    assert before.tolist() == [6.0, 8.0]
    assert along.tolist() == [3.0, 4.0]


def test_gradients_have_tangents_in_a_dual_level() -> None:
    """Forward over reverse: what `grad` gives of a dual tensor moves, too."""
    forward = dt.autograd.forward_ad
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    with forward.dual_level():
        d = forward.make_dual(x, dt.tensor([1.0, 10.0]))
        y = (d**3).sum()
        for of in (d, x):
            (slope,) = dt.autograd.grad(y, of, retain_graph=True)
            moved = forward.unpack_dual(slope)
            assert moved.primal.tolist() == [3.0, 12.0]
            assert moved.tangent.tolist() == [6.0, 120.0]
        y.backward()
        assert forward.unpack_dual(x.grad).tangent is None
    assert repr(x.grad) == "tensor([ 3., 12.])"


@pytest.mark.parametrize("along", [
    dt.tensor(X.T.copy()).T, dt.ones(3, dtype=dt.float64).expand(2, 3),
    dt.tensor(np.repeat(X, 2, 1))[:, ::2],
], ids=["transposed", "expanded", "of a larger one"])  # fmt: skip
def test_tangents_in_any_layout_are_seen_as_their_value_is(along: dt.Tensor) -> None:
    """Views that a value allows its tangent allows, however it lay before."""
    for x in (dt.tensor(X), dt.tensor(X.T.copy()).T, dt.tensor(X)[:, ::2]):
        move = along[:, : x.shape[1]]
        _, moved = func.jvp(
            lambda x: dt.as_strided(x, (2,), (x.stride(0),)).sum(), (x,), (move,)
        )
        assert moved.item() == pytest.approx(move[:, 0].sum().item())


def test_arguments_by_keyword_are_the_same_for_all_rows() -> None:
    """As in torch, vmap maps positional arguments alone."""
    rows = dt.tensor([1.0, 2.0])
    found = dt.vmap(lambda x, y: x + y.sum())(rows, y=dt.ones(2, 3))
    assert found.tolist() == [7.0, 8.0]


@pytest.mark.parametrize("transform", [func.jacrev, func.jacfwd])
def test_jacobians_of_complex_numbers_are_refused(transform: Any) -> None:
    """A Jacobian has one number for each pair, which is not enough for complex ones."""
    with pytest.raises(RuntimeError, match="complex"):
        transform(lambda x: x * x)(dt.ones(2, dtype=dt.complex64))


def test_a_jacobian_by_rows_has_no_complex_results() -> None:
    """Each row would be the gradient of the real part alone."""
    with pytest.raises(RuntimeError, match="complex"):
        func.jacrev(lambda x: x * 1j)(dt.ones(2))
