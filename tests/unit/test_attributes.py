"""What static arguments of ops may be: refused by name, the same however they come."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dt
from dovetail.engine.attributes import normaliser_of
from dovetail.engine.integers import EVERY
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.nn import functional as F

# For an annotation's text: numbers it takes, and numbers it does not.
RANGES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "Positive": ((1, 0.5, math.inf), (0, -0.0, -1, math.nan)),
    "NonNegative": ((0, 2.5), (-1, -math.inf, math.nan)),
    "NonZero": ((-1, 1e-300), (0, 0.0, math.nan)),
    "Probability": ((0, 0.5, 1), (-0.1, 1.1, math.nan)),
}


@pytest.mark.parametrize("annotation", RANGES)
def test_ranges(annotation: str) -> None:
    """Numbers within a range pass unchanged, others are refused, NaN always."""
    check = normaliser_of(annotation)
    assert check is not None
    inside, outside = RANGES[annotation]
    for value in inside:
        assert check("op", "p", value, 0) == value
        assert check("op", "p", dt.tensor(value, dtype=dt.float64), 0) == value
    for value in outside:
        with pytest.raises(ArgumentError, match="op: p is"):
            check("op", "p", value, 0)


@pytest.mark.parametrize("annotation", RANGES)
@pytest.mark.parametrize("value", ["1", None, 1j, [1]])
def test_no_number(annotation: str, value: Any) -> None:
    """What is no real number is a TypeError that names the argument."""
    check = normaliser_of(annotation)
    assert check is not None
    with pytest.raises(ArgumentTypeError, match=r"op: p is .*needed a real number"):
        check("op", "p", value, 0)


@pytest.mark.parametrize("annotation", ["AxisOrEvery", "AxesOrEvery"])
def test_dims_left_out(annotation: str) -> None:
    """All dims are asked for by giving none, never by None."""
    check = normaliser_of(annotation)
    assert check is not None
    assert check("op", "dim", EVERY, 3) == (0, 1, 2)
    assert check("op", "dim", check("op", "dim", EVERY, 3), 3) == (0, 1, 2)
    with pytest.raises(ArgumentTypeError, match="op: dim is None"):
        check("op", "dim", None, 3)


@given(st.text(max_size=6) | st.integers() | st.none())
def test_one_of_a_few(value: Any) -> None:
    """Only what the text of a `Literal` names is taken; `| None` lets None through."""
    check = normaliser_of('Literal["none", "tanh"]')
    either = normaliser_of('Literal["none", "tanh"] | None')
    assert check is not None
    assert either is not None
    if value in ("none", "tanh"):
        assert check("op", "p", value, 0) == value
    else:
        with pytest.raises(ArgumentError, match="needed 'none' or 'tanh'"):
            check("op", "p", value, 0)
    if value is None:
        assert either("op", "p", value, 0) is None


REFUSED: dict[str, tuple[Any, str]] = {
    "gelu": (lambda x: F.gelu(x, "erf"), "gelu: approximate is 'erf', needed 'none'"),
    "celu": (lambda x: F.celu(x, 0), "celu: alpha is 0, needed a number that is not 0"),
    "softshrink": (lambda x: F.softshrink(x, -1), "softshrink: lambd is -1, needed"),
    "hardtanh": (lambda x: F.hardtanh(x, 2, 1), "hardtanh: min_val is 2, needed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_and_after_a_good_call(name: str) -> None:
    """A wrong value is refused, and again after the op has been called rightly."""
    call, message = REFUSED[name]
    x = dt.tensor([-1.0, 2.0])
    for _ in range(2):
        with pytest.raises(ArgumentError, match=message):
            call(x)
        getattr(F, name)(x)


def test_sizes_in_tensors_are_read_when_given() -> None:
    """A tensor that is a size counts as what it is now, not as what it was before."""
    x, n = dt.arange(12).reshape(3, 4).t(), dt.tensor(2)
    assert x.reshape(n, 6).shape == (2, 6)
    n += 1
    assert x.reshape(n, 4).shape == (3, 4)
    with pytest.raises(dt.errors.ShapeError):
        x.reshape(n, 6)
