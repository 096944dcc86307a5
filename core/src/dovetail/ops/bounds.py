"""The greater and the less of each pair, and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import (
    ORDERED,
    REAL,
    bool_,
)
from dovetail.engine.attributes import Scalar
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import (
    eq,
    lt,
    maximum,
)
from dovetail.ops.compare import bitwise_not, bitwise_or, ge, isnan, le
from dovetail.ops.elementwise import neg
from dovetail.ops.formats import clone, where

Array = np.ndarray[Any, Any]


@op(accepts=ORDERED, exact=True, torch="minimum", oracle=np.minimum)
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The less of each pair; NaN if either is NaN."""
    if input.dtype is bool_:
        return input & other
    if input.dtype.is_floating_point:
        return neg(maximum(neg(input), neg(other)))
    return bitwise_not(maximum(bitwise_not(input), bitwise_not(other)))


def _share(ct: Tensor, mine: Tensor, theirs: Tensor) -> Tensor:
    """All of `ct` where `mine` is less, half at ties; as in torch, all for NaN."""
    return where(eq(mine, theirs), ct * 0.5, where(lt(theirs, mine), 0, ct))


minimum.grad(
    input=lambda ct, input, other: _share(ct, input, other),
    other=lambda ct, input, other: _share(ct, other, input),
)


@op(accepts=ORDERED, exact=True, torch="fmax", oracle=np.fmax)
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The greater of each pair; of a number and NaN, the number."""
    greater = maximum(input, other)
    return where(isnan(input), other, where(isnan(other), input, greater))


fmax.grad(
    input=lambda ct, input, other: where(_is_fmax(input, other), ct, 0),
    other=lambda ct, input, other: where(_is_fmax(input, other), 0, ct),
)


def _is_fmax(a: Tensor, b: Tensor) -> Tensor:
    return bitwise_or(ge(a, b), isnan(b))


@op(accepts=ORDERED, exact=True, torch="fmin", oracle=np.fmin)
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The less of each pair; of a number and NaN, the number."""
    less = minimum(input, other)
    return where(isnan(input), other, where(isnan(other), input, less))


fmin.grad(
    input=lambda ct, input, other: where(_is_fmin(input, other), ct, 0),
    other=lambda ct, input, other: where(_is_fmin(input, other), 0, ct),
)


def _is_fmin(a: Tensor, b: Tensor) -> Tensor:
    return bitwise_or(le(a, b), isnan(b))


@op(accepts=ORDERED, exact=True)
def clamp(
    input: Tensor, min: Tensor | None = None, max: Tensor | None = None
) -> Tensor:
    """`input` raised to `min`, then lowered to `max`; NaN stays, and bounds pass it."""
    y = input if min is None else maximum(input, min)
    y = y if max is None else minimum(y, max)
    return clone(input) if y is input else y


@clamp.vjp
def _(ct: Tensor, input: Tensor, min: Any, max: Any, need: Any) -> tuple[Any, Any, Any]:
    gx = glow = ghigh = None
    if need[0]:
        gx = ct if min is None else where(ge(input, min), ct, 0)
        gx = gx if max is None else where(le(input, max), gx, 0)
    if min is not None and need[1]:
        glow = where(lt(input, min), ct, 0)
        glow = glow if max is None else where(lt(min, max), glow, 0)
    if max is not None and need[2]:
        above = lt(max, input)
        above = above if min is None else bitwise_or(above, lt(max, min))
        ghigh = where(above, ct, 0)
    return gx, glow, ghigh


@clamp.oracle
def _(x: Array, min: Any = None, max: Any = None) -> Array:
    y = x if min is None else np.where(np.isnan(x) | (x >= min), x, min)
    return y if max is None else np.where(np.isnan(y) | (y <= max), y, max)


@clamp.cases
def _(make: Any) -> Any:
    x = make.distinct(3, 4)
    if x.dtype.kind in "fiu":
        yield case(x, make(3, 1, low=-1, high=0), make(4, low=1, high=3))
        yield case(x, None, make(low=1, high=3))
    yield case(x, make(4), None)
    yield case(make(0, 2), make(2), make(2))


@op(accepts=REAL)
def clip(
    input: Tensor, low: Scalar | None = None, high: Scalar | None = None
) -> Tensor:
    """`clamp` with numbers, which do not change the dtype."""
    return clamp(input, low, high)


@clip.vjp
def _(ct: Tensor, input: Tensor, low: Any, high: Any) -> Tensor:
    g = ct if low is None else where(ge(input, low), ct, 0)
    return g if high is None else where(le(input, high), g, 0)


@clip.oracle
def _(x: Array, low: Any = None, high: Any = None) -> Array:
    y = x if low is None else np.where(x < low, low, x)
    return y if high is None else np.where(y > high, high, y)


@clip.cases
def _(make: Any) -> Any:
    yield case(make(3, 4), 1, 2)
    yield case(make(2, 1, 3), None, 1)
    yield case(make(), 0, None)
    yield case(make(0, 2), 2, 1)
