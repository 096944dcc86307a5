"""Whether numbers lie in a range, as the checks of indices ask it of a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import INTEGRAL, Array, bool_
from dovetail.engine.attributes import Ints
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.limits import iinfo
from dovetail.ops.create import full
from dovetail.ops.extremes import amax


def _truth(x: Array, low: int, end: int, spared: Any) -> Array:
    found = [v for v in x.ravel().tolist() if v not in spared]
    return np.array(any(not low <= v < end for v in found))


@op(shape=lambda x, **_: (), accepts=INTEGRAL, result=bool_, nondifferentiable=True,
    unrounded=True, oracle=_truth, cases=lambda make: [
        case(make.ints(3, 4, high=5), 0, 5, ()),
        case(make.ints(3, 4, high=5), 0, 4, ()),
        case(make.ints(9, high=9), 0, 8, (8,)), case(make.ints(9, high=9), 1, 9, (0,)),
        case(make.ints(high=3), 0, 2, ()), case(make.ints(0, high=3), 2, 1, ()),
        case(make.ints(300, high=100), 0, 99, ()),
    ])  # fmt: skip
def any_outside(input: Tensor, low: int, end: int, spared: Ints) -> Tensor:
    """Whether some number is less than `low`, or not less than `end`.

    Args:
        spared: numbers that do not count, wherever they lie.

    Returns: one bool.
    """
    if 0 in input._a.shape:
        return full((), False, input._kind.with_dtype(bool_))
    inside = ~(input < low)
    if end <= iinfo(input.dtype).max:  # else it would wrap, and all are below it
        inside = inside & (input < end)
    for number in spared:
        if iinfo(input.dtype).min <= number <= iinfo(input.dtype).max:
            inside = inside | (input == number)
    return amax(~inside)
