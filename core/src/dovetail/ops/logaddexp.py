"""Logarithms of sums of exponentials, and products with a logarithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT
from dovetail.engine.attributes import Operand
from dovetail.engine.declare import op
from dovetail.engine.exact import exact
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import (
    exp,
    log,
    maximum,
)  # fmt: skip
from dovetail.ops.compare import isnan
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import where
from dovetail.ops.transcendental import LN2, exp2, log1p


def _exponentials(log1p: Any, exp: Any, log_2: Any, a: Any, b: Any) -> Any:
    """The greater, and the logarithm of what the other adds to it."""
    top = np.maximum(a, b)
    gap = np.where(a == b, 0, np.minimum(a, b) - top)
    return np.where(
        (np.abs(top) == np.inf) & (a == b), top, top + log1p(exp(gap)) / log_2
    )


@op(cancels=True, accepts=FLOAT, promote="float",
    oracle=exact(lambda m, a, b: _exponentials(m.log1p, m.exp, 1, a, b)),
    grad={
        "input": lambda ct, input, other: ct / (1 + exp(other - input)),
        "other": lambda ct, input, other: ct / (1 + exp(input - other)),
    })  # fmt: skip
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(input) + exp(other)) without overflow."""
    same = input == other
    gap = abs(where(same, 0, input - other))
    return where(same, input + LN2, maximum(input, other) + log1p(exp(-gap)))


@op(cancels=True, accepts=FLOAT, promote="float", torch="logaddexp2",
    oracle=exact(lambda m, a, b: _exponentials(m.log1p, m.exp2, m.ln2, a, b)),
    grad={
        "input": lambda ct, input, other: ct / (1 + exp2(other - input)),
        "other": lambda ct, input, other: ct / (1 + exp2(input - other)),
    })  # fmt: skip
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2^input + 2^other) without overflow."""
    same = input == other
    gap = abs(where(same, 0, input - other))
    more = log1p(exp2(-gap)) * (1 / LN2)
    return where(same, input + 1, maximum(input, other) + more)


def _xlogy(m: Any, a: Any, b: Any) -> Any:
    return np.where((a == 0) & np.equal(b, b), 0, a * m.log(b))


def _xlogy_rule(ct: Tensor, input: Tensor, other: Tensor) -> Tensor:
    flat = (input == 0) & (other <= 0)
    return where(flat, 0, ct * log(where(flat, 1, other)))


@op(accepts=FLOAT, promote="float", domain=(0.1, 3.0), torch="xlogy xlogy_",
    oracle=exact(_xlogy),
    grad={
        "input": _xlogy_rule,
        "other": lambda ct, input, other: ct * (input / other),
    })  # fmt: skip
def xlogy(input: Operand, other: Operand) -> Tensor:
    """input log(other), which is 0 where `input` is 0 and `other` is not NaN."""
    zero = (input == 0) & ~isnan(other)
    return where(zero, 0, input * log(where(zero, 1, other)))
