"""Exponentials scaled to sum to one, and their logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.exact import exact
from dovetail.engine.tensor import Tensor
from dovetail.ops.extremes import amax
from dovetail.ops.primitive import clone, exp, log
from dovetail.ops.sums import sum
from dovetail.ops.view import reshape


def sum_along(x: Tensor, dim: int) -> Tensor:
    """The sum along `dim`, which stays with size 1."""
    return sum(x, dim, True)


def _shifted(x: Tensor, dim: int) -> Tensor:
    """`x` less its maximum along `dim`, which leaves softmax as it is."""
    return x - amax(x, dim, True)


def _exponentials(m: Any, x: Any, dim: int) -> Any:
    """`x` less its maximum, its exponentials, and their sum along `dim`."""
    shifted = x - np.max(x, axis=dim, keepdims=True, initial=-np.inf)
    e = m.exp(shifted)
    return shifted, e, np.sum(e, axis=dim, keepdims=True)


def _softmax(m: Any, x: Any, dim: int) -> Any:
    _, e, total = _exponentials(m, x, dim)
    return e / total


def _log_softmax(m: Any, x: Any, dim: int) -> Any:
    shifted, _, total = _exponentials(m, x, dim)
    return shifted - m.log(total)


def _rows(make: Any) -> Any:
    yield case(make(2, 3), 1)
    yield case(make(4, 2, 3), 0)
    yield case(make(2, 3, 2), dim=-2)
    yield case(make(5, low=-30, high=80), 0)
    yield case(make(), 0)
    yield case(make(0, 3), 1)
    yield case(make(3, 0), 1)


@op(shape="(n@dim)->(n@dim)", accepts=FLOAT, oracle=exact(_softmax), cases=_rows,
    grows=(0,))  # fmt: skip
def softmax(input: Tensor, dim: Axis) -> Tensor:
    """Exponentials of `input` along `dim`, scaled to sum to one."""
    if not input.ndim:
        return reshape(softmax(reshape(input, (1,)), 0), ())
    if 0 in input._a.shape:
        return clone(input)
    e = exp(_shifted(input, dim))
    return e / sum_along(e, dim)


def _softmax_rule(ct: Tensor, y: Tensor, dim: int) -> Tensor:
    """y (ct - sum(ct y))."""
    if not y.ndim:
        return ct * y - ct * y * y
    weighted = ct * y
    return weighted - y * sum_along(weighted, dim)


softmax_backward = softmax.grad(
    input=_softmax_rule,
    backward={"cancels": True},
    oracle=exact(
        lambda m, ct, y, dim: y * (ct - np.sum(ct * y, axis=dim, keepdims=True))
    ),
)


@op(cancels=True, shape="(n@dim)->(n@dim)", accepts=FLOAT, oracle=exact(_log_softmax),
    cases=_rows, grows=(0,))  # fmt: skip
def log_softmax(input: Tensor, dim: Axis) -> Tensor:
    """The logarithm of softmax: x - max - log(sum(exp(x - max))) along `dim`."""
    if not input.ndim:
        return reshape(log_softmax(reshape(input, (1,)), 0), ())
    if 0 in input._a.shape:
        return clone(input)
    shifted = _shifted(input, dim)
    return shifted - log(sum_along(exp(shifted), dim))


def _log_softmax_rule(ct: Tensor, y: Tensor, dim: int) -> Tensor:
    """ct - exp(y) sum(ct)."""
    if not y.ndim:
        return ct - exp(y) * ct
    return ct - exp(y) * sum_along(ct, dim)


log_softmax_backward = log_softmax.grad(
    input=_log_softmax_rule,
    backward={"cancels": True},
    oracle=exact(
        lambda m, ct, y, dim: ct - m.exp(y) * np.sum(ct, axis=dim, keepdims=True)
    ),
)
