"""Activations that are linear by pieces."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, REAL, Array
from dovetail.engine.attributes import Element, Extent, Factor
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.elements import stored
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import maximum
from dovetail.ops.bounds import clamp
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import where


def corners(*calls: dict[str, Any]) -> Any:
    """Cases of an activation: it as it is, and with the attributes of each call."""

    def cases(make: Any) -> Any:
        yield case(make(2, 3), **calls[0])
        yield case(make(), **calls[-1])
        yield case(make(0, 2), **calls[0])
        for call in calls:
            yield case(make.distinct(4, 3) + make.dtype.numpy.type(0.125), **call)

    return cases


@op(accepts=REAL, unrounded=True, out=False, torch="relu relu_ F.relu(inplace) F.relu_",
    oracle=lambda x: np.where(x <= 0, 0, x).astype(x.dtype))  # fmt: skip
def relu(input: Tensor) -> Tensor:
    """The greater of `input` and 0; NaN stays.

    Raises: DTypeError for bools and complex numbers.

    >>> import dovetail as dt
    >>> dt.relu(dt.tensor([-1.0, 0.5]))
    tensor([0.0000, 0.5000])
    """
    return maximum(input, 0)


relu.grad(
    input=lambda ct, y: where(y <= 0, 0, ct),
    backward=True,
    oracle=lambda ct, y: np.where(y <= 0, 0, ct),
)


@op(accepts=FLOAT, out=False, torch="F.leaky_relu(inplace) F.leaky_relu_",
    oracle=lambda x, negative_slope=0.01: np.where(x > 0, x, x * negative_slope),
    cases=corners({}, {"negative_slope": 0.25}),
    grad=lambda ct, input, negative_slope: where(
        input > 0, ct, ct * negative_slope))  # fmt: skip
def leaky_relu(input: Tensor, negative_slope: Factor = 0.01) -> Tensor:
    """`input`, times `negative_slope` below zero (Maas et al. 2013)."""
    return where(input > 0, input, input * negative_slope)


@op(autocast="lower", accepts=FLOAT,
    oracle=lambda x, weight: np.where(x > 0, x, x * weight),
    grad={
        "input": lambda ct, input, weight: where(input > 0, ct, ct * weight),
        "weight": lambda ct, input: where(input > 0, 0, ct * input),
    })  # fmt: skip
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input`, times `weight` below zero; both broadcast (He et al. 2015)."""
    return where(input > 0, input, input * weight)


def _between(x: Array, low: float, high: float) -> Array:
    if x.dtype.kind == "u" and min(low, high) < 0:
        raise ValueError("no unsigned integer lies between these bounds")
    return np.clip(x, low, high)


@op(accepts=REAL, out=False,
    oracle=lambda x, low=-1.0, high=1.0: _between(x, low, high),
    cases=lambda make: [
        case(make(2, 3), 1, 2), case(make(), 0.5 if make.dtype.is_inexact else 0, 1),
    ],
    grad=lambda ct, input, min_val, max_val: where(
        (min_val < input) & (input < max_val), ct, 0))  # fmt: skip
def hardtanh(input: Tensor, min_val: Element = -1.0, max_val: Element = 1.0) -> Tensor:
    """`input` between bounds; the gradient at a bound is 0, unlike that of clamp.

    Bounds of integers are cut to integers.
    """
    if not input.dtype.is_inexact:
        min_val = stored("hardtanh", input.dtype, min_val, "min_val")
        max_val = stored("hardtanh", input.dtype, max_val, "max_val")
    return clamp(input, min_val, max_val)


@op(accepts=REAL, out=False, torch="F.relu6(inplace)",
    oracle=lambda x: np.clip(x, 0, 6))  # fmt: skip
def relu6(input: Tensor) -> Tensor:
    """`input` between 0 and 6 (Krizhevsky 2010)."""
    return hardtanh(input, 0, 6)


@op(accepts=FLOAT, out=False, torch="F.hardsigmoid(inplace)",
    oracle=lambda x: np.clip(x + 3, 0, 6) / 6,
    grad=lambda ct, input: where((input > -3) & (input < 3), ct / 6, 0))  # fmt: skip
def hardsigmoid(input: Tensor) -> Tensor:
    """input / 6 + 1 / 2 between 0 and 1 (Howard et al. 2019)."""
    return clamp(input + 3, 0, 6) * (1 / 6)


def _hardswish_rule(ct: Tensor, input: Tensor) -> Tensor:
    middle = where(input <= -3, 0, ct * (input * (1 / 3) + 0.5))
    return where(input < 3, middle, ct)


@op(accepts=FLOAT, out=False, torch="F.hardswish(inplace)",
    oracle=lambda x: x * np.clip(x + 3, 0, 6) / 6, grad=_hardswish_rule)  # fmt: skip
def hardswish(input: Tensor) -> Tensor:
    """input * hardsigmoid(input) (Howard et al. 2019, arXiv:1905.02244)."""
    return input * clamp(input + 3, 0, 6) * (1 / 6)


@op(accepts=REAL, out=False,
    torch="torch.threshold torch.threshold_ F.threshold(inplace) F.threshold_",
    cases=lambda _: [([2, 3], 1, 2), ([], -1, 0)],
    grad=lambda ct, input, threshold: where(input <= threshold, 0, ct))  # fmt: skip
def threshold(input: Tensor, threshold: Factor, value: Element) -> Tensor:
    """`input` above the threshold, else `value`; of integers an integer."""
    if not input.dtype.is_inexact:
        threshold = stored("threshold", input.dtype, threshold, "threshold")
        value = stored("threshold", input.dtype, value)
    return where(input <= threshold, value, input)


@threshold.oracle
def _(x: Array, threshold: Any, value: Any) -> Array:
    # Both numbers are of the dtype of `x`: a negative one wraps, if that is unsigned.
    least = np.asarray(threshold).astype(x.dtype)
    return np.where(x <= least, np.asarray(value).astype(x.dtype), x)


def _softshrink(x: Array, lambd: Any = 0.5) -> Array:
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, 0 * x))


@op(accepts=FLOAT, out=False, torch="F.softshrink", oracle=_softshrink,
    cases=corners({}, {"lambd": 1.0}),
    grad=lambda ct, input, lambd: where(abs(input) <= lambd, 0, ct))  # fmt: skip
def softshrink(input: Tensor, lambd: Extent = 0.5) -> Tensor:
    """`input` moved towards zero by `lambd`, and 0 within it."""
    below = where(input < -lambd, input + lambd, input * 0)
    return where(lambd < input, input - lambd, below)


@op(out="same", accepts=FLOAT, unrounded=True, torch="hardshrink F.hardshrink",
    oracle=lambda x, lambd=0.5: np.where(np.abs(x) <= lambd, 0, x),
    cases=corners({}, {"lambd": 1.0}),
    grad=lambda ct, input, lambd: where(abs(input) <= lambd, 0, ct))  # fmt: skip
def hardshrink(input: Tensor, lambd: Element = 0.5) -> Tensor:
    """`input`, and 0 where its magnitude is at most `lambd`."""
    return where(abs(input) <= lambd, 0, input)
