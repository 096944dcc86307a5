"""Numbers that stand before the tensors they meet."""

from __future__ import annotations

from typing import Any

import pytest

import dovetail as dt
from dovetail.ops.primitive import maximum, where

CONDITION = dt.tensor([True, False, True])
X = dt.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("number", [0.0, -0.0, 2, -1.5, float("nan"), True, 2 + 1j])
@pytest.mark.parametrize("dtype", [dt.float32, dt.int64, dt.float16])
def test_they_are_what_they_are_behind(number: Any, dtype: dt.dtype) -> None:
    """The dtype, the bits and the gradient are those of the operands turned around."""
    x = X.to(dtype)
    for _ in range(3):
        before, behind = where(CONDITION, number, x), where(~CONDITION, x, number)
        assert before.dtype is behind.dtype
        assert repr(before.tolist()) == repr(behind.tolist())


def test_zeros_keep_their_signs() -> None:
    """One that is kept for later calls is no other's."""
    for zero in (0.0, -0.0, 0.0, 0, False):
        found = where(CONDITION, X, zero).signbit().tolist()
        assert found == [False, str(zero) == "-0.0", False]


def test_gradients_go_to_the_tensor_alone() -> None:
    """Where the number was taken there is none."""
    x = X.clone().requires_grad_()
    where(CONDITION, 1.0, x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    assert maximum(2.5, X).tolist() == [2.5, 2.5, 3.0]


def test_numbers_stay_weak_beside_tensors_of_several_dtypes() -> None:
    """They are rounded to the dtype of the result, and not before."""
    found = where(dt.tensor(True), 0.1, X.double())
    assert found.tolist()[0] == 0.1
    assert dt.lerp(X.double(), X.double(), 0.1).dtype is dt.float64
