"""Softmax in a dtype that is cast to first."""

from __future__ import annotations

from dovetail.dtypes import DType
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.ops import softmax as s
from dovetail.ops.primitive import cast


def _cast(input: Tensor, dtype: DType | None) -> Tensor:
    return input if dtype is None or input.dtype is dtype else cast(input, dtype)


@public("softmax", out=True)
def softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Exponentials along `dim`, scaled to sum to one; `dtype` is cast to first."""
    return s.softmax(_cast(input, dtype), dim)


@public("log_softmax", out=True)
def log_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """The logarithm of softmax, without its rounding."""
    return s.log_softmax(_cast(input, dtype), dim)
