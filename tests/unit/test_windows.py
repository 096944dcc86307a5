"""Convolutions and poolings at the ends of what they take."""

from __future__ import annotations

import math

import pytest

import dovetail as dt
from dovetail.nn import functional as F

INF = float("inf")


@pytest.mark.parametrize("pool", [F.adaptive_avg_pool2d, F.adaptive_max_pool2d])
def test_adaptive_pooling_to_nothing(pool: object) -> None:
    """A size of 0 gives a result without elements, as in torch."""
    assert callable(pool)
    assert pool(dt.ones(1, 2, 7, 5), (0, 1)).shape == (1, 2, 0, 1)


def test_infinite_weights_that_meet_only_padding() -> None:
    """The gradient of an input has no part of weights that no element of it met."""
    weight = dt.ones(1, 3, 3, 3)
    weight[0, 0, 0, 0] = INF
    x = dt.zeros(1, 3, 1, 1, requires_grad=True)
    F.conv2d(x, weight, padding=1).sum().backward()
    assert x.grad is not None
    assert x.grad.reshape(-1).tolist() == [1.0, 1.0, 1.0]


def test_infinite_weights_that_meet_an_element() -> None:
    """The weight in the middle is what an input of one element met."""
    weight = dt.ones(1, 1, 3, 3)
    weight[0, 0, 1, 1] = INF
    x = dt.zeros(1, 1, 1, 1, requires_grad=True)
    F.conv2d(x, weight, padding=1).sum().backward()
    assert x.grad is not None
    assert math.isinf(x.grad.item())
