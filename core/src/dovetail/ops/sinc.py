"""The sine over its argument."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dovetail.dtypes import INEXACT
from dovetail.engine.declare import op
from dovetail.engine.exact import exact
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import cos, eq, lt, sin
from dovetail.ops.complex import real
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import conj, where
from dovetail.ops.rounding import round
from dovetail.ops.transcendental import polynomial


def _sinc(m: Any, x: Any) -> Any:
    z = within = np.where(x == 0, 1, x)
    if z.dtype.kind == "f":
        # Pi times a large number has too few digits; remainders are exact.
        z = np.abs(z)
        within = z % 2
    return np.where(x == 0, 1, m.sin(within * m.pi) / (z * m.pi))


# of cos(z) / z - sin(z) / z^2, by powers of z^2
_SINC_SLOPE: Final = tuple(
    (-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 8)
)


def _sinc_rule(ct: Tensor, input: Tensor) -> Tensor:
    """Next to 0 by its series, where the difference of the two terms loses digits."""
    z = input * math.pi
    square, small = z * z, lt(abs(z), 0.5)
    far = where(small, 1, z)
    far_slope = (cos(far) - sin(far) / far) / far
    slope = where(small, polynomial(square, _SINC_SLOPE) * z, far_slope)
    return ct * conj(slope * math.pi)


@op(accepts=INEXACT, promote="float", torch="sinc sinc_", oracle=exact(_sinc),
    grad=_sinc_rule)  # fmt: skip
def sinc(input: Tensor) -> Tensor:
    """sin(pi input) / (pi input), which is 1 at 0.

    The sine is that of less than one turn: whole turns are taken off exactly, which
    pi times a large number cannot be.
    """
    zero = eq(input, 0)
    x = where(zero, 1, input)
    turn = x - round((real(x) if x.dtype.is_complex else x) * 0.5) * 2
    return where(zero, 1, sin(turn * math.pi) / (x * math.pi))
