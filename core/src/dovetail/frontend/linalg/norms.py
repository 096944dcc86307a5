"""Norms of vectors and matrices, and conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail.dtypes import DType, as_dtype
from dovetail.engine.integers import axis_set
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    DTypeError,
    EmptyDimError,
    LinAlgError,
    ShapeError,
)
from dovetail.frontend.linalg.checks import matrices, squares
from dovetail.frontend.linalg.systems import inv
from dovetail.frontend.statistics import vector_norm as _vector_norm
from dovetail.ops.elementwise import abs
from dovetail.ops.extremes import amax, amin
from dovetail.ops.formats import cast
from dovetail.ops.spectra import singular_values
from dovetail.ops.sums import sum
from dovetail.ops.view import permute, unsqueeze


def _inexact(name: str, x: Tensor) -> None:
    if not x.dtype.is_inexact:
        raise DTypeError(
            name, "input", was=x.dtype.name, needed="floating point or complex numbers",
            remedy="cast it with .float()",
        )  # fmt: skip


@public("linalg.vector_norm", out="same")
def vector_norm(
    x: Tensor, ord: float = 2, dim: int | Sequence[int] | None = None,
    keepdim: bool = False, *, dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """sum(|x|^ord)^(1/ord) over `dim`; inf and -inf are the extremes, 0 counts."""
    _inexact("linalg.vector_norm", x)
    return _vector_norm(x, ord, dim, keepdim, dtype=dtype)


def _two_dims(name: str, x: Tensor, dim: Any) -> tuple[int, int]:
    if x.ndim < 2:
        raise ShapeError(
            name, "A", was=f"of shape {tuple(x.shape)}", needed="at least 2 dimensions"
        )
    dims = axis_set(name, "dim", dim, x.ndim)
    if len(dims) != 2:
        raise ArgumentError(name, "dim", was=dim, needed="two dims")
    return dims[0], dims[1]


def _spectral(x: Tensor, dims: tuple[int, int], ord: Any, keepdim: bool) -> Tensor:
    """Of singular values: their sum, the greatest or the smallest."""
    others = [d for d in range(x.ndim) if d not in dims]
    s = singular_values(permute(x, (*others, *dims)))[1]
    if ord == "nuc" or (ord == 2 and not s.shape[-1]):
        y = sum(s, -1)
    else:
        y = amax(s, -1) if ord > 0 else amin(s, -1)
    if keepdim:
        for d in sorted(dims):
            y = unsqueeze(y, d)
    return y


def _matrix_norm(
    name: str, x: Tensor, ord: Any, dims: tuple[int, int], keepdim: bool
) -> Tensor:
    if ord == "fro":
        return _vector_norm(x, 2, dims, keepdim)
    if ord in (2, -2, "nuc"):
        return _spectral(x, dims, ord, keepdim)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ArgumentError(
            name, "ord", was=repr(ord),
            needed="'fro', 'nuc', inf, -inf, 1, -1, 2 or -2",
        )  # fmt: skip
    row, column = dims if ord in (1, -1) else dims[::-1]
    sums = sum(abs(x), row, True)
    if not x.shape[column] and ord > 0:
        return sum(sums, column, True) if keepdim else sum(sums, (row, column))
    if not x.shape[column]:
        raise EmptyDimError(
            name, "A", was=f"of shape {tuple(x.shape)}", needed="elements in each dim"
        )
    y = (amax if ord > 0 else amin)(sums, column, True)
    if keepdim:
        return y
    return y.squeeze((row, column))


def _cast(name: str, x: Tensor, dtype: DType | None) -> Tensor:
    if dtype is None:
        return x
    wide = as_dtype(dtype, name)
    if not wide.is_inexact or wide.is_complex is not x.dtype.is_complex:
        raise DTypeError(
            name, "dtype", was=f"{wide.name} for {x.dtype.name}",
            needed="a float dtype for floats, a complex one for complex numbers",
        )  # fmt: skip
    return cast(x, wide)


@public("linalg.matrix_norm", out=True)
def matrix_norm(
    A: Tensor, ord: float | str = "fro", dim: Sequence[int] = (-2, -1),
    keepdim: bool = False, *, dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """A norm of matrices: of elements ("fro"), sums, or singular values.

    Args:
        ord: "fro"; "nuc" for the sum of singular values, 2 and -2 for their extremes;
            1 and -1 for those of the sums of columns, inf and -inf of rows.
    """
    _inexact("linalg.matrix_norm", A)
    dims = _two_dims("linalg.matrix_norm", A, dim)
    x = _cast("linalg.matrix_norm", A, dtype)
    return _matrix_norm("linalg.matrix_norm", x, ord, dims, keepdim)


@public("linalg.norm", out=True)
def norm(
    input: Tensor, ord: float | str | None = None,
    dim: int | Sequence[int] | None = None, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """A norm of vectors, or of matrices where `dim` (or `input`) has two dims."""
    name = "linalg.norm"
    _inexact(name, input)
    if isinstance(dim, tuple | list) and len(dim) not in (1, 2):
        raise ArgumentError(name, "dim", was=dim, needed="one dim or two")
    if ord is None:
        return _vector_norm(input, 2, dim, keepdim, dtype=dtype)
    given = (dim,) if isinstance(dim, int) else dim
    if given is None:
        if input.ndim not in (1, 2):
            raise ShapeError(
                name, "input", was=f"{input.ndim}-d with ord={ord!r} and no dim",
                needed="1 or 2 dims",
            )  # fmt: skip
        given = tuple(range(input.ndim))
    if len(given) == 1:
        if isinstance(ord, str):
            raise ArgumentError(name, "ord", was=repr(ord), needed="a number: a vector")
        return _vector_norm(input, ord, given, keepdim, dtype=dtype)
    dims = _two_dims(name, input, given)
    return _matrix_norm(name, _cast(name, input, dtype), ord, dims, keepdim)


@public("linalg.cond", out=True, autocast="float32")
def cond(A: Tensor, p: float | str | None = None) -> Tensor:
    """The norm of A times that of its inverse; by singular values for None, 2, -2."""
    matrices("linalg.cond", A=A)
    if p is None or p in (2, -2):
        s = singular_values(A)[1]
        if not s.shape[-1]:
            raise EmptyDimError(
                "linalg.cond", "A", was=f"of shape {tuple(A.shape)}",
                needed="at least one element",
            )  # fmt: skip
        first, last = s[..., 0], s[..., -1]
        return last / first if p == -2 else first / last
    squares("linalg.cond", A=A)
    if not A.numel():
        return sum(abs(A), (-2, -1)) * 0
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise ArgumentError("linalg.cond", "p", was=repr(p), needed="that of a norm")
    try:
        inverse = inv(A)
    except LinAlgError:
        return sum(abs(A), (-2, -1)) * 0 + math.inf
    return matrix_norm(A, p) * matrix_norm(inverse, p)
