"""Exponentials scaled to sum to one, and their logarithms."""

# Ops are functions known by their declaration: what they return is Any to mypy.

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.extremes import amax
from dovetail.ops.primitive import clone, exp, log
from dovetail.ops.sums import sum
from dovetail.ops.view import reshape

Array = np.ndarray[Any, Any]


def sum_along(x: Tensor, dim: int) -> Tensor:
    """The sum along `dim`, which stays with size 1."""
    total: Tensor = sum(x, dim, True)
    return total


def _shifted(x: Tensor, dim: int) -> Tensor:
    """`x` less its maximum along `dim`, which leaves softmax as it is."""
    return x - amax(x, dim, True)


@op(shape="(n@dim)->(n@dim)", accepts=FLOAT)
def softmax(x: Tensor, dim: Axis) -> Tensor:
    """Exponentials of `x` along `dim`, scaled to sum to one."""
    if not x.ndim:
        return reshape(softmax(reshape(x, (1,)), 0), ())
    if 0 in x._a.shape:
        return clone(x)
    e = exp(_shifted(x, dim))
    return e / sum_along(e, dim)


@softmax.vjp
def _(ct: Tensor, y: Tensor, dim: int) -> Tensor:
    return softmax_backward(ct, y, dim)


def _softmax(x: Array, dim: int) -> Array:
    if not x.size:
        return x
    e = np.exp(x - np.max(x, axis=dim, keepdims=True))
    y: Array = e / np.sum(e, axis=dim, keepdims=True)
    return y


softmax.oracle(_softmax)


@op(cancels=True, shape="(n@dim),(n@dim)->(n@dim)", accepts=FLOAT)
def softmax_backward(ct: Tensor, y: Tensor, dim: Axis) -> Tensor:
    """The gradient y (ct - sum(ct y)) of softmax, from its result `y`."""
    if not y.ndim:
        return ct * y - ct * y * y
    weighted = ct * y
    return weighted - y * sum_along(weighted, dim)


@softmax_backward.oracle
def _(ct: Array, y: Array, dim: int) -> Array:
    found: Array = y * (ct - np.sum(ct * y, axis=dim, keepdims=True))
    return found


@op(cancels=True, shape="(n@dim)->(n@dim)", accepts=FLOAT)
def log_softmax(x: Tensor, dim: Axis) -> Tensor:
    """The logarithm of softmax: x - max - log(sum(exp(x - max))) along `dim`."""
    if not x.ndim:
        return reshape(log_softmax(reshape(x, (1,)), 0), ())
    if 0 in x._a.shape:
        return clone(x)
    shifted = _shifted(x, dim)
    return shifted - log(sum_along(exp(shifted), dim))


@log_softmax.vjp
def _(ct: Tensor, y: Tensor, dim: int) -> Tensor:
    return log_softmax_backward(ct, y, dim)


@log_softmax.oracle
def _(x: Array, dim: int) -> Array:
    if not x.size:
        return x
    top = np.max(x, axis=dim, keepdims=True)
    y: Array = x - top - np.log(np.sum(np.exp(x - top), axis=dim, keepdims=True))
    return y


@op(cancels=True, shape="(n@dim),(n@dim)->(n@dim)", accepts=FLOAT)
def log_softmax_backward(ct: Tensor, y: Tensor, dim: Axis) -> Tensor:
    """The gradient ct - exp(y) sum(ct) of log_softmax, from its result `y`."""
    if not y.ndim:
        return ct - exp(y) * ct
    return ct - exp(y) * sum_along(ct, dim)


@log_softmax_backward.oracle
def _(ct: Array, y: Array, dim: int) -> Array:
    found: Array = ct - np.exp(y) * np.sum(ct, axis=dim, keepdims=True)
    return found


@softmax.cases
@log_softmax.cases
def _cases(make: Any) -> Any:
    yield case(make(2, 3), 1)
    yield case(make(4, 2, 3), 0)
    yield case(make(2, 3, 2), dim=-2)
    yield case(make(5, low=-30, high=80), 0)
    yield case(make(), 0)
    yield case(make(0, 3), 1)
    yield case(make(3, 0), 1)


@softmax_backward.cases
@log_softmax_backward.cases
def _backward_cases(make: Any) -> Any:
    yield case(make(2, 3), make(2, 3), 1)
    yield case(make(4, 2, 3), make(4, 2, 3), 0)
    yield case(make(3, 0), make(3, 0), 1)
    yield case(make(), make(), 0)
