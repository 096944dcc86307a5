"""Logarithms of sums of exponentials: of complex numbers, too."""

from __future__ import annotations

from typing import Any

from dovetail.engine.integers import axis
from dovetail.engine.promotion import result_type
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.ops import logaddexp as pairs
from dovetail.ops import scan
from dovetail.ops.arithmetic import exp
from dovetail.ops.compare import isfinite
from dovetail.ops.complex import real
from dovetail.ops.formats import cast, clone, where
from dovetail.ops.shape import stack
from dovetail.ops.transcendental import log1p
from dovetail.ops.view import basic_index


@public("logaddexp", out=True)
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(input) + exp(other)) without overflow.

    Of complex numbers the imaginary part is within pi / 2 of that of the number with
    the greater real part.
    """
    if not (_is_complex(input) or _is_complex(other)):
        return pairs.logaddexp(input, other)
    dtype = result_type((input, other))
    return _added(cast(input, dtype), cast(other, dtype))


@public("logcumsumexp", out="same", plain=scan.logcumsumexp)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the cumulative sum of exponentials along `dim`.

    Complex numbers are added one after the other, as it depends on their order in
    which turn around 0 an imaginary part is: it takes a step for each.
    """
    if not input.dtype.is_complex:
        return scan.logcumsumexp(input, dim)
    dim = axis("logcumsumexp", "dim", dim, input.ndim)
    if not input.ndim or 0 in input._a.shape:
        return clone(input)
    lead = (slice(None),) * dim
    found = [basic_index(input, (*lead, 0))]
    for i in range(1, input._a.shape[dim]):
        found.append(_added(basic_index(input, (*lead, i)), found[-1]))
    return stack(found, dim)


def _is_complex(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype.is_complex


def _added(x: Tensor, y: Tensor) -> Tensor:
    """What is less is added to what is greater, so that nothing overflows."""
    first = real(x) >= real(y)
    more, less = where(first, x, y), where(first, y, x)
    top, bottom = real(more), real(less)
    # Of two infinities of one sign the difference would be NaN.
    apart = isfinite(top) | (top != bottom)
    gap = where(apart, less - more, 0)
    # A difference that is infinite turns around 0 without an end; what is added is 0.
    gap = where(isfinite(bottom) & isfinite(top), gap, cast(real(gap), gap.dtype))
    return more + log1p(exp(gap))


__all__ = ["logaddexp", "logcumsumexp"]
