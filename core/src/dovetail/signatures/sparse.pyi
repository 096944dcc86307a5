"""sparse.

Written by `python -m dovetail.signatures`.
"""

from collections.abc import Sequence
from typing import Any

from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.memory_formats import layout

def addmm(
    mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)`, where `mat1` may be sparse."""

def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`."""

def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix with a dense or a sparse one."""

def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` where the sparse `input` has
    elements.
    """

def softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """exp(input) over its sum along a dim; what is left out counts as minus
    infinity.
    """

def spdiags(
    diagonals: Tensor,
    offsets: Tensor,
    shape: Sequence[int],
    layout: layout | None = None,
) -> Tensor:
    """A sparse matrix with rows of `diagonals` along its diagonals."""

def sum(
    input: Tensor,
    dim: int | tuple[int, ...] | list[int] | None = None,
    dtype: DType | None = None,
) -> Tensor:
    """The sum of a sparse tensor over some dims, or all."""
