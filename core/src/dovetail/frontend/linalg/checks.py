"""What functions of linear algebra ask of their arguments, and of what they found."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.device_api.meta import MetaBackend
from dovetail.dtypes import HALF
from dovetail.engine.checks import all_values
from dovetail.engine.tensor import Tensor
from dovetail.errors import DTypeError, LinAlgError, ShapeError


def numbers(name: str, **tensors: Tensor) -> None:
    """Refuse what LAPACK has no numbers for: integers, bools and 16-bit floats.

    Raises: DTypeError for those, and for tensors of several dtypes.
    """
    first: Tensor | None = None
    for argument, x in tensors.items():
        if not x.dtype.is_inexact or x.dtype in HALF:
            raise DTypeError(
                name, argument, was=x.dtype.name,
                needed="float32, float64, complex64 or complex128",
                remedy="cast it with .to(dtype)",
            )  # fmt: skip
        if first is not None and x.dtype is not first.dtype:
            raise DTypeError(
                name, argument, was=x.dtype.name,
                needed=f"{first.dtype.name}, as the other argument has",
            )  # fmt: skip
        first = x


def matrices(name: str, **tensors: Tensor) -> None:
    """Refuse what is no batch of matrices.

    Raises: ShapeError for fewer than two dims, DTypeError as `numbers`.
    """
    for argument, x in tensors.items():
        if x.ndim < 2:
            raise ShapeError(
                name, argument, was=f"of shape {tuple(x.shape)}",
                needed="at least 2 dimensions: a batch of matrices",
            )  # fmt: skip
    numbers(name, **tensors)


def squares(name: str, **tensors: Tensor) -> None:
    """Refuse what is no batch of square matrices.

    Raises: ShapeError for others, DTypeError as `numbers`.
    """
    matrices(name, **tensors)
    for argument, x in tensors.items():
        n, m = x.shape[-2:]
        if n != m:
            raise ShapeError(
                name, argument, was=f"{n} by {m} matrices",
                needed="batches of square matrices",
            )  # fmt: skip


def refuse(name: str, info: Tensor, was: str, needed: str) -> None:
    """Refuse the first matrix of a batch that `info` marks; `{}` in `was` is its mark.

    Raises: LinAlgError, which names the batch element.
    """
    if isinstance(info._kind.backend, MetaBackend):
        return
    marks: Any = all_values(info)
    if not np.any(marks):
        return
    at = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(marks)))
    mark = int(np.atleast_1d(marks)[at])
    where = (
        f"(Batch element {at[0] if len(at) == 1 else at}): " if np.ndim(marks) else ""
    )
    raise LinAlgError(name, "input", was=where + was.format(mark), needed=needed)


def refuse_singular(name: str, info: Tensor) -> None:
    """Refuse matrices whose elimination met a pivot of 0.

    Raises: LinAlgError, which names the batch element.
    """
    was = "singular: pivot {} of its elimination is zero"
    refuse(name, info, was, "matrices that can be inverted")
