"""masked.

Written by `python -m dovetail.signatures`.
"""

from collections.abc import Sequence
from typing import overload

from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.signatures.overloads import Valued

def amax(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The greatest of what `mask` keeps; the least number of the dtype of
    nothing.
    """

def amin(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The least of what `mask` keeps; the greatest number of the dtype of
    nothing.
    """

def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the greatest of what `mask` keeps is; as torch has it, in its
    dtype.
    """

def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the least of what `mask` keeps is; as torch has it, in its dtype."""

def cumprod(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Products up to each element, of which those that `mask` drops count as
    1.
    """

def cumsum(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Sums up to each element, of which those that `mask` drops count as 0."""

def log_softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of `softmax`."""

def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), of what the masks keep."""

def logsumexp(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum of exponentials of what `mask` keeps."""

def mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of what `mask` keeps; NaN of nothing."""

@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The median along `dim` of what `mask` keeps."""

@overload
def median(
    input: Tensor,
    dim: int,
    keepdim: bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> Valued: ...
def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The norm of vectors of what `mask` keeps."""

def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Lines over their norm, which counts as `eps` at least; dropped elements
    are 0.
    """

def prod(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of what `mask` keeps; 1 of nothing."""

def softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Exponentials over their sum, of what `mask` keeps; 0 elsewhere."""

def softmin(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """`softmax` of what is negated."""

def std(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of what `mask` keeps."""

def sum(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of what `mask` keeps; 0 of nothing."""

def var(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of what `mask` keeps."""
