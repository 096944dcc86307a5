"""The greater and the less of each pair, and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import ORDERED, Array, bool_
from dovetail.engine.attributes import Operand
from dovetail.engine.cases import distinct, values
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import maximum
from dovetail.ops.compare import isnan
from dovetail.ops.formats import clone, where


@op(accepts=ORDERED, unrounded=True, torch="minimum", oracle=np.minimum,
    grad={
        "input": lambda ct, input, other: _share(ct, input, other),
        "other": lambda ct, input, other: _share(ct, other, input),
    })  # fmt: skip
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The less of each pair; NaN if either is NaN."""
    if input.dtype is bool_:
        return input & other
    if input.dtype.is_floating_point:
        return -maximum(-input, -other)
    return ~maximum(~input, ~other)


def _share(ct: Tensor, mine: Tensor, theirs: Tensor) -> Tensor:
    """All of `ct` where `mine` is less, half at ties; as in torch, all for NaN."""
    return where(mine == theirs, ct * 0.5, where(theirs < mine, 0, ct))


@op(accepts=ORDERED, unrounded=True, torch="fmax", oracle=np.fmax,
    grad={
        "input": lambda ct, input, other: where(_is_fmax(input, other), ct, 0),
        "other": lambda ct, input, other: where(_is_fmax(input, other), 0, ct),
    })  # fmt: skip
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The greater of each pair; of a number and NaN, the number."""
    greater = maximum(input, other)
    return where(isnan(input), other, where(isnan(other), input, greater))


def _is_fmax(a: Tensor, b: Tensor) -> Tensor:
    return (a >= b) | isnan(b)


@op(accepts=ORDERED, unrounded=True, torch="fmin", oracle=np.fmin,
    grad={
        "input": lambda ct, input, other: where(_is_fmin(input, other), ct, 0),
        "other": lambda ct, input, other: where(_is_fmin(input, other), 0, ct),
    })  # fmt: skip
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The less of each pair; of a number and NaN, the number."""
    less = minimum(input, other)
    return where(isnan(input), other, where(isnan(other), input, less))


def _is_fmin(a: Tensor, b: Tensor) -> Tensor:
    return (a <= b) | isnan(b)


def _inside(ct: Tensor, input: Tensor, min: Any, max: Any) -> Tensor:
    ct = ct if min is None else where(input >= min, ct, 0)
    return ct if max is None else where(input <= max, ct, 0)


def _below(ct: Tensor, input: Tensor, min: Tensor, max: Any) -> Tensor:
    ct = where(input < min, ct, 0)
    return ct if max is None else where(min < max, ct, 0)


def _above(ct: Tensor, input: Tensor, min: Any, max: Tensor) -> Tensor:
    above = max < input
    above = above if min is None else above | (max < min)
    return where(above, ct, 0)


def _clamped(x: Array, min: Any = None, max: Any = None) -> Array:
    y = x if min is None else np.where(np.isnan(x) | (x >= min), x, min)
    return y if max is None else np.where(np.isnan(y) | (y <= max), y, max)


@op(accepts=ORDERED, unrounded=True, oracle=_clamped,
    grad={"input": _inside, "min": _below, "max": _above})  # fmt: skip
def clamp(
    input: Tensor, min: Operand | None = None, max: Operand | None = None
) -> Tensor:
    """`input` raised to `min`, then lowered to `max`; NaN stays, and bounds pass it."""
    y = input if min is None else maximum(input, min)
    y = y if max is None else minimum(y, max)
    return clone(input) if y is input else y


@clamp.cases
def _(make: Any) -> Any:
    x = distinct(3, 4)
    if make.dtype.numpy.kind in "fiu":
        yield x, values(3, 1, low=-1, high=0), values(4, low=1, high=3)
        yield x, None, values(low=1, high=3)
        between = 0.3 if make.dtype.is_inexact else 1  # no element is at a bound
        yield x, between, between + 1
        yield [], between, None
    yield x, [4], None
    yield [0, 2], [2], [2]
