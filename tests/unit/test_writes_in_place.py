"""In-place ops and `out=`: where the result is written, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail.device_api import registry


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The memory that kernels of `mul` were told to write into."""
    found: list[Any] = []
    table = registry.load("cpu").table
    kernel = np.multiply

    def noted(a: Any, b: Any, out: Any = None) -> Any:
        found.append(out)
        return kernel(a, b, out)

    with table.adding("noted"):
        table.add(
            "mul", noted, dtypes=[dt.float32], rank=9, broadcasts=True, checks=True,
            supports_out=True,
        )  # fmt: skip
    yield found
    table.remove("noted")


def test_an_op_writes_into_its_own_memory(written: list[Any]) -> None:
    """No temporary array: the kernel gets the tensor's own, also for numbers."""
    x, y = dt.ones(4), dt.full((4,), 3.0)
    x.mul_(y)
    x.mul_(y)
    x *= 2
    assert all(out is x._a for out in written[1:]), "the first call learns"
    assert (x.tolist(), x._version) == ([18.0] * 4, 3)


def test_aliases_and_parameters_see_the_write(written: list[Any]) -> None:
    """Detached tensors, and parameters under no_grad, stay where they are."""
    p = dt.nn.Parameter(dt.ones(3))
    alias, before = p.detach(), p._a
    with dt.no_grad():
        for _ in range(3):
            p.mul_(2)
    assert p._a is before
    assert alias.tolist() == [8.0] * 3
    assert alias._version == p._version == 3


def test_what_is_on_the_tape_is_written_beside(written: list[Any]) -> None:
    """Gradients are those of the functional form."""
    for _ in range(2):
        x = dt.full((3,), 2.0, requires_grad=True)
        y = x * 1
        y.mul_(y.detach() * 3)
        y.sum().backward()
        assert x.grad.tolist() == [6.0] * 3


def test_a_kept_tensor_that_is_written_is_noticed() -> None:
    """The version counts, so that backward refuses what was overwritten."""
    x, w = dt.ones(3, requires_grad=True), dt.full((3,), 2.0)
    for _ in range(2):
        y = (x * w).sum()
        w.mul_(5)
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            y.backward()


@pytest.mark.parametrize("write", ["mul_", "add_"])
def test_a_refused_write_changes_nothing(write: str) -> None:
    """Shapes and dtypes that do not fit are refused, each time."""
    x = dt.ones(3, 1)
    for _ in range(3):
        with pytest.raises(dt.errors.ShapeError):
            getattr(x, write)(dt.ones(1, 4))
    whole = dt.ones(3, dtype=dt.int64)
    for _ in range(3):
        with pytest.raises(dt.errors.DTypeError):
            getattr(whole, write)(1.5)
    wide = dt.ones(1).expand(3)
    for _ in range(3):
        with pytest.raises(dt.errors.InplaceError):
            getattr(wide.detach(), write)(dt.ones(3))
    assert (x.tolist(), whole.tolist()) == ([[1.0]] * 3, [1] * 3)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add_", "sub_", "mul_", "div_"]),
            st.sampled_from(["x", "part", "row", "other", "number"]),
            st.sampled_from(["x", "part", "other", "number"]),
        ),
        max_size=8,
    )
)
def test_writes_are_those_of_numpy(steps: list[tuple[str, str, str]]) -> None:
    """Whole tensors, views and what shares memory, written in any order."""
    ufuncs = {
        "add_": np.add, "sub_": np.subtract, "mul_": np.multiply, "div_": np.divide,
    }  # fmt: skip
    ours = dt.arange(1.0, 7.0).reshape(2, 3).clone()
    theirs = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)
    names = {
        "x": (ours, theirs), "part": (ours[:, 1:], theirs[:, 1:]),
        "row": (ours[0], theirs[0]),
        "other": (dt.full((2, 3), 1.5), np.full((2, 3), 1.5, np.float32)),
        "number": (0.5, np.float32(0.5)),
    }  # fmt: skip
    for op, target, operand in steps:
        (t, nt), (o, no) = names[target], names[operand]
        if target == "number":
            continue
        try:
            with np.errstate(all="ignore"):
                made = ufuncs[op](nt, no)
        except ValueError:
            made = None
        if made is None or made.shape != nt.shape:
            with pytest.raises(dt.errors.ShapeError):
                getattr(t, op)(o)
            continue
        nt[...] = made
        getattr(t, op)(o)
        np.testing.assert_array_equal(ours.numpy(), theirs)


# ---- out=


def test_out_is_written_where_it_lies(written: list[Any]) -> None:
    """A result that fits goes straight into the memory of `out`."""
    x, out = dt.full((4,), 3.0), dt.empty(4)
    memory = out._a
    for _ in range(2):
        assert dt.mul(x, x, out=out) is out
    assert out._a is memory
    assert all(a is memory for a in written)
    assert (out.tolist(), out._version) == ([9.0] * 4, 2)


def test_out_may_be_an_input_or_a_view(written: list[Any]) -> None:
    """What overlaps the inputs is computed first."""
    x = dt.arange(6.0)
    dt.mul(x, x, out=x)
    assert x.tolist() == [0, 1, 4, 9, 16, 25]
    dt.mul(x[:3], 2.0, out=x[1:4])
    assert x.tolist() == [0, 0, 2, 8, 16, 25]
    dt.mul(x.detach()[:3], 2.0, out=x.detach()[1:4])
    assert x.tolist() == [0, 0, 0, 4, 16, 25]


def test_out_is_checked() -> None:
    """Its shape, dtype and class; one that requires gradients is refused, as torch."""
    x = dt.ones(3)
    for _ in range(2):
        with pytest.raises(dt.errors.ShapeError):
            dt.mul(x, x, out=dt.empty(4))
        with pytest.raises(dt.errors.DTypeError):
            dt.mul(x, x, out=dt.empty(3, dtype=dt.int64))
        with pytest.raises(TypeError):
            dt.mul(x, x, out=[1, 2, 3])
        with pytest.raises(RuntimeError, match="automatic differentiation"):
            dt.mul(x.clone().requires_grad_(), x, out=dt.empty(3))
        with pytest.raises(TypeError):
            x.mul(x, out=dt.empty(3))
    wide = dt.empty(3, dtype=dt.float64)
    assert dt.mul(x, x, out=wide).dtype is dt.float64
