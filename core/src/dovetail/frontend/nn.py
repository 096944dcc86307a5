"""torch's names for softmax."""

# Ops are functions known by their declaration: what they return is Any to mypy.

from __future__ import annotations

from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.frontend.export import torch_name
from dovetail.ops import softmax as s
from dovetail.ops.primitive import cast


def _cast(input: Tensor, dtype: DType | None) -> Tensor:
    return input if dtype is None or input.dtype is dtype else cast(input, dtype)


@torch_name()
def softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Exponentials along `dim`, scaled to sum to one; `dtype` is cast to first."""
    y: Tensor = s.softmax(_cast(input, dtype), dim)
    return y


@torch_name()
def log_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """The logarithm of softmax, without its rounding."""
    y: Tensor = s.log_softmax(_cast(input, dtype), dim)
    return y
