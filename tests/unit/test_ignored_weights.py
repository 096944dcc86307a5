"""Weights of classes: those of labels that do not count are not read."""

from __future__ import annotations

import math

import pytest

import dovetail as dt
import dovetail.nn.functional as F


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_the_weight_of_an_ignored_class_is_not_read(odd: float, reduction: str) -> None:
    """Neither by the loss nor by its gradient."""
    x = dt.tensor([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], requires_grad=True)
    target, found = dt.tensor([1, 0]), []
    for weight in (odd, 3.0):
        losses = F.cross_entropy(
            x, target, dt.tensor([weight, 2.0, 1.0]), ignore_index=0,
            reduction=reduction,
        )  # fmt: skip
        (gradient,) = dt.autograd.grad(losses.sum(), x)
        found.append((losses.tolist(), gradient.tolist()))
    assert found[0] == found[1]
