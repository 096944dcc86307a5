"""How exact a result can be: the tolerance of one op call.

Rounding moves a result by at most (2 u + e) |y| + (8 + 2 √n) u' S, where u is the
roundoff of the result's format, u' that of the arithmetic (float32 for 16-bit
formats), e the op's own error in it, n the number of terms and S the sum of their
absolute values (`conformance/rounding.py` has u, e and the factor). S is measured: for
sums of products by the op itself on absolute values; for all others by changing one
input at a time by little (Higham, Accuracy and Stability of Numerical Algorithms,
ch. 1.6 and 3.1), and every step of the body.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dovetail.conformance.rounding import (
    accumulates_in,
    of_terms,
    own_error,
    roundoff,
)
from dovetail.dtypes import Array, DType
from dovetail.engine.op import Op
from dovetail.testing.comparison.inputs import Inputs, Where
from dovetail.testing.comparison.probe import Probe
from dovetail.testing.comparison.values import (
    is_exact,
    sizes_of,
    smallest,
)

Results = list[Array]

_UNSTEADY: Final = 1 / 16  # of the typical S, where chance made the measured one small


def allowed_at_once(
    op: Op, dtype: DType, want: Array, stands_in: bool
) -> Array | float:
    """The part of the tolerance that takes no measuring: the format's own rounding.

    Where one device has another format than the other, even a copy is rounded.
    """
    if is_exact(op, dtype) and not stands_in:
        return 0.0
    inner = accumulates_in(dtype)
    size = sizes_of(want)
    limit = (2 * roundoff(dtype) + own_error(op, inner)) * size + smallest(dtype)
    if (not op.is_elementwise or not op.primitive) and size.size:
        # What cancels to little has the rounding of its neighbours' size, also in the
        # tails of functions, such as that of gelu by 1 + erf(x).
        limit += 4 * roundoff(inner) * size.max()
    return limit


def measured(inputs: Inputs, where: Where, dtype: DType, wants: Results) -> Results:
    """For each result (8 + 2 √n) u' S, measured on a device."""
    probe = Probe(inputs, where)
    sums = probe.sums() if inputs.op.sums else probe.changes()
    noise = [] if inputs.op.sums else probe.noise()
    if len(noise) == len(sums):
        sums = [a + b for a, b in zip(sums, noise, strict=True)]
    factor = roundoff(accumulates_in(dtype)) * of_terms(_terms(inputs, wants))
    if len(sums) != len(wants):
        return [np.zeros(w.shape) for w in wants]
    return [factor * _steadied(inputs.op, s) for s in sums]


def _steadied(op: Op, s: Array) -> Array:
    if op.is_elementwise or op.sums or not s.size:
        return s
    typical = float(np.sqrt(np.mean(np.square(s))))
    return np.maximum(s, _UNSTEADY * typical)


def _terms(inputs: Inputs, wants: Results) -> float:
    """About how many terms a result is the sum of, from the sizes alone."""
    if inputs.op.is_elementwise or not wants or not wants[0].size:
        return 1.0
    sizes = sorted((v.host.size for v in inputs.values if v.host.size), reverse=True)
    if not sizes:
        return 1.0
    out = wants[0].size
    longest = max((max(v.host.shape, default=1) for v in inputs.values), default=1)
    product = math.sqrt(sizes[0] * sizes[1] / out) if len(sizes) > 1 else 1.0
    return max(sizes[0] / out, product, longest)
