"""Weighted sums of elements at any places: what resampling is made of.

A result has the same number of taps for all rows of a batch: at `index`, times
`weight`. A tap whose index is outside is one of the number 0. Each of the three ops is
linear in its tensors, and the gradients of each are the other two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, Array, Sizes
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.create import zeros_of
from dovetail.ops.index import scatter_add
from dovetail.ops.primitive import take_along, where
from dovetail.ops.sums import sum
from dovetail.ops.view import expand, reshape, unsqueeze

_TAPS: Any = {
    "accepts": FLOAT, "indices": ("index",), "trusted": ("index",), "promote": "equal",
    "sums": True, "largest": 1 << 12,
}  # fmt: skip


def _held(index: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Which taps are within, and places that all are."""
    within = (index >= 0) & (index < size)
    return within, where(within, index, 0)


def _lines(index: Tensor, channels: int) -> Tensor:
    """[n, k, p] as one line for each channel."""
    n, k, p = index._a.shape
    return expand(reshape(index, (n, 1, k * p)), (n, channels, k * p))


def _found(x: Tensor, index: Tensor) -> Tensor:
    """[n, c, k, p]: the elements at the taps; 0 outside."""
    n, k, p = tuple(index._a.shape)
    c, size = tuple(x._a.shape[1:])
    if not size or not c:
        return zeros_of(x, (n, c, k, p))
    within, places = _held(index, size)
    found = reshape(take_along(x, _lines(places, c), 2), (n, c, k, p))
    return where(unsqueeze(within, 1), found, 0)


def _refused(op: str, argument: str, was: Sizes, needed: str) -> ShapeError:
    return ShapeError(op, argument, was=f"of shape {tuple(was)}", needed=needed)


def _summed(x: Sizes, index: Sizes, weight: Sizes) -> Sizes:
    if len(index) != 3 or tuple(weight) != tuple(index):
        raise _refused("tap_sum", "weight", weight, f"[n, k, p], as index {index}")
    if len(x) != 3 or x[0] != index[0]:
        raise _refused("tap_sum", "input", x, f"[{index[0]}, c, m]")
    return (*x[:2], index[2])


def _spread(x: Sizes, index: Sizes, weight: Sizes, *, size: int) -> Sizes:
    if len(index) != 3 or tuple(weight) != tuple(index):
        raise _refused("tap_spread", "weight", weight, f"[n, k, p], as index {index}")
    if len(x) != 3 or (x[0], x[2]) != (index[0], index[2]):
        raise _refused("tap_spread", "input", x, f"[{index[0]}, c, {index[2]}]")
    return (*x[:2], size)


def _dotted(x: Sizes, index: Sizes, other: Sizes) -> Sizes:
    if len(index) != 3 or len(x) != 3 or (x[0], x[2]) != (index[0], index[2]):
        raise _refused("tap_dot", "input", x, f"[n, c, p] for index {tuple(index)}")
    if len(other) != 3 or tuple(other[:2]) != tuple(x[:2]):
        raise _refused("tap_dot", "other", other, f"[{x[0]}, {x[1]}, m]")
    return tuple(index)


def _oracle_of_elements(x: Array, index: Array) -> Array:
    """[n, c, k, p], one tap after the other."""
    found = np.zeros((*x.shape[:2], *index.shape[1:]), x.dtype)
    for i, k, p in np.ndindex(*index.shape):
        at = int(index[i, k, p])
        if 0 <= at < x.shape[2]:
            found[i, :, k, p] = x[i, :, at]
    return found


def _cases_sum(make: Any) -> Iterator[Case]:
    for n, c, m, k, p in ((2, 3, 5, 4, 6), (1, 1, 4, 1, 3), (2, 2, 3, 2, 0),
                          (1, 2, 0, 3, 2)):  # fmt: skip
        index = make.ints(n, k, p, low=-2, high=m + 2)
        yield case(make(n, c, m), index, make(n, k, p))


@op(shape=_summed, **_TAPS, cases=_cases_sum,
    oracle=lambda x, index, weight: (
        _oracle_of_elements(x, index) * weight[:, None]
    ).sum(2))  # fmt: skip
def tap_sum(input: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """y[n, c, p], the sum over k of input[n, c, index[n, k, p]] * weight[n, k, p].

    Args:
        input: [n, c, m].
        index: [n, k, p] integers.
        weight: [n, k, p].
    """
    return sum(_found(input, index) * unsqueeze(weight, 1), (2,))


def _cases_spread(make: Any) -> Iterator[Case]:
    for n, c, m, k, p in ((2, 3, 5, 4, 6), (1, 1, 4, 1, 3), (2, 2, 3, 2, 0)):
        index = make.ints(n, k, p, low=-2, high=m + 2)
        yield case(make(n, c, p), index, make(n, k, p), m)


def _spread_by_one(x: Array, index: Array, weight: Array, size: int) -> Array:
    y = np.zeros((*x.shape[:2], size), x.dtype)
    for i, k, p in np.ndindex(*index.shape):
        at = int(index[i, k, p])
        if 0 <= at < size:
            y[i, :, at] += x[i, :, p] * weight[i, k, p]
    return y


@op(shape=_spread, **_TAPS, cases=_cases_spread, oracle=_spread_by_one)
def tap_spread(input: Tensor, index: Tensor, weight: Tensor, size: int) -> Tensor:
    """Each element times its weights, added at its taps: `tap_sum` turned around.

    Args:
        input: [n, c, p].
        index, weight: [n, k, p].

    Returns: [n, c, size].
    """
    n, c, p = tuple(input._a.shape)
    y = zeros_of(input, (n, c, size))
    if not size or not c:
        return y
    within, places = _held(index, size)
    share = unsqueeze(input, 2) * unsqueeze(weight, 1)
    share = where(unsqueeze(within, 1), share, 0)
    line = reshape(share, (n, c, index._a.shape[1] * p))
    return scatter_add(y, 2, _lines(places, c), line)


def _cases_dot(make: Any) -> Iterator[Case]:
    for n, c, m, k, p in ((2, 3, 5, 4, 6), (1, 1, 4, 1, 3), (2, 0, 3, 2, 2)):
        index = make.ints(n, k, p, low=-2, high=m + 2)
        yield case(make(n, c, p), index, make(n, c, m))


@op(shape=_dotted, **_TAPS, cases=_cases_dot,
    oracle=lambda x, index, other: (
        _oracle_of_elements(other, index) * x[:, :, None]
    ).sum(1))  # fmt: skip
def tap_dot(input: Tensor, index: Tensor, other: Tensor) -> Tensor:
    """y[n, k, p], the sum over c of input[n, c, p] * other[n, c, index[n, k, p]].

    Args:
        input: [n, c, p].
        index: [n, k, p].
        other: [n, c, m].
    """
    return sum(_found(other, index) * unsqueeze(input, 2), (1,))


tap_sum.grad(
    input=lambda ct, index, weight, input_shape: tap_spread(
        ct, index, weight, input_shape[2]
    ),
    weight=lambda ct, index, input: tap_dot(ct, index, input),
)
tap_spread.grad(
    input=lambda ct, index, weight: tap_sum(ct, index, weight),
    weight=lambda ct, index, input: tap_dot(input, index, ct),
)
tap_dot.grad(
    input=lambda ct, index, other: tap_sum(other, index, ct),
    other=lambda ct, index, input, other_shape: tap_spread(
        input, index, ct, other_shape[2]
    ),
)

__all__ = ["tap_dot", "tap_spread", "tap_sum"]
