"""What the ops of linear algebra share: their shapes, parts of matrices, samples."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dovetail.dtypes import Array, Sizes, complex64, complex128, float32, float64, int32
from dovetail.engine.kinds import Kind
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops.arithmetic import eq
from dovetail.ops.formats import cast, conj, iota
from dovetail.ops.view import transpose, unsqueeze

# The formats of LAPACK.
FORMATS: Final = frozenset({float32, float64, complex64, complex128})
# What the kit draws beside ordinary numbers is singular, or leaves the format: there a
# factorisation has no one answer that is right.
UNDEFINED: Final = (
    "special", "subnormal", "extreme", "ties", "exact", "wide", "zeros", "nan", "few",
    "lone", "masked", "pairs", "sweep", "borders", "flat", "shifted", "equal",
)  # fmt: skip
_SMALL: Final = 2.0**-5  # of singular values, beside the largest or 1
LARGEST: Final = 36  # elements: each step of a body is some twenty calls
OF_LAPACK: Any = {
    "accepts": FORMATS, "promote": "equal", "cancels": True, "undefined_on": UNDEFINED,
    "largest": LARGEST,
}  # fmt: skip


def matrix(name: str, shape: Sizes) -> Sizes:
    """The shape of matrices.

    Raises: ShapeError for fewer than two dims.
    """
    if len(shape) < 2:
        raise ShapeError(
            name, "input", was=f"of shape {tuple(shape)}",
            needed="at least two dims: the tensor must have at least 2 dimensions",
        )  # fmt: skip
    return tuple(shape)


def square(name: str, shape: Sizes) -> Sizes:
    """The shape of square matrices.

    Raises: ShapeError for others.
    """
    found = matrix(name, shape)
    if found[-1] != found[-2]:
        raise ShapeError(
            name, "input", was=f"{found[-2]} by {found[-1]} matrices",
            needed="batches of square matrices",
        )  # fmt: skip
    return found


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose of matrices."""
    return transpose(conj(x), -2, -1)


def hermitian(x: Tensor) -> Tensor:
    """The Hermitian part of matrices."""
    return (x + adjoint(x)) * 0.5


def identity(n: int, kind: Kind) -> Tensor:
    """Ones on a diagonal."""
    k = iota(n, kind.with_dtype(int32))
    return cast(eq(unsqueeze(k, 0), unsqueeze(k, 1)), kind.dtype)


def regular(make: Any, *shape: int) -> Array:
    """Matrices whose singular values lie apart, and none next to 0."""
    x = make(*shape) * 0.25
    n, m = x.shape[-2:]
    near = np.minimum(np.arange(n)[:, None] % 97, 97)
    main = (np.arange(n)[:, None] + 1) % max(n, 1) == np.arange(m) % max(n, 1)
    return np.asarray(x + (3 + near) * main).astype(x.dtype)


def well_posed(name: str, x: Array) -> None:
    """Refuse matrices next to singular ones, whose factors have no digits."""
    if 0 in x.shape:
        return
    size = np.linalg.svd(np.asarray(x, np.complex128), compute_uv=False)
    if not np.all(size[..., -1] > _SMALL * np.maximum(size[..., 0], 1)):
        raise ArgumentError(
            name, "input", was="nearly singular", needed="singular values above 0"
        )


def definite(make: Any, *shape: int) -> Array:
    """Hermitian matrices whose eigenvalues are positive and lie apart."""
    x = make(*shape) * 0.25
    n = x.shape[-1]
    part = (x + np.conj(np.swapaxes(x, -1, -2))) / 2
    return np.asarray(part + np.diag(3.0 + 2 * np.arange(n))).astype(x.dtype)
