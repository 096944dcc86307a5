"""What a mask keeps, and what stands for the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail.dtypes import DType, bool_, int64
from dovetail.engine.integers import axes
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.limits import iinfo
from dovetail.ops.formats import cast, where
from dovetail.ops.view import expand

Dims = int | Sequence[int] | None


def broadcast_mask(name: str, x: Tensor, mask: Tensor | None) -> Tensor | None:
    """The mask as bools in the shape of the input.

    Raises: ShapeError for a mask that does not broadcast to it.
    """
    if mask is None:
        return None
    fits = mask.ndim <= x.ndim and all(
        m in (1, n) for m, n in zip(mask.shape[::-1], x.shape[::-1], strict=False)
    )
    if not fits:
        raise ShapeError(
            name, "mask", was=f"of shape {tuple(mask.shape)}",
            needed=f"one that broadcasts to the input's {tuple(x.shape)}",
        )  # fmt: skip
    kept: Tensor = expand(cast(mask, bool_), tuple(x.shape))
    return kept


def filled_with(name: str, x: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    kept = broadcast_mask(name, x, mask)
    return x if kept is None else where(kept, x, value)


def dims_of(name: str, x: Tensor, dim: Dims) -> tuple[int, ...]:
    """All dims for None; none for an empty tuple, as torch has it here."""
    if isinstance(dim, tuple | list) and not dim:
        return ()
    return axes(name, "dim", dim, x.ndim)


def in_dtype(x: Tensor, dtype: DType | None) -> Tensor:
    return x if dtype is None or x.dtype is dtype else cast(x, dtype)


def accumulated(x: Tensor, dtype: DType | None) -> Tensor:
    """In the dtype asked for; integers and bools as int64 otherwise."""
    return in_dtype(x, dtype or (x.dtype if x.dtype.is_inexact else int64))


def lowest(dtype: DType) -> float:
    """What is below every number of a dtype."""
    if dtype is bool_:
        return False
    return -math.inf if dtype.is_floating_point else iinfo(dtype).min


def highest(dtype: DType) -> float:
    if dtype is bool_:
        return True
    return math.inf if dtype.is_floating_point else iinfo(dtype).max
