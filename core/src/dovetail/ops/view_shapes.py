"""Shapes that hold the same elements in the same order, and what needs no copy."""

from __future__ import annotations

import math

from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import Sizes
from dovetail.errors import ShapeError


def resolve_shape(name: str, size: Sizes, shape: Sizes) -> Sizes:
    """`shape` with -1 replaced by the size that fits.

    Raises:
        ShapeError: the number of elements differs.
    """
    total = math.prod(size)
    if -1 not in shape and math.prod(shape) == total and min(shape, default=0) >= 0:
        return tuple(shape)  # most of them
    known = math.prod(s for s in shape if s != -1)
    open_dims = [i for i, s in enumerate(shape) if s == -1]
    fits = known == total if not open_dims else bool(known) and total % known == 0
    if len(open_dims) > 1 or any(s < -1 for s in shape) or not fits:
        raise ShapeError(
            name, "shape",
            was=f"{tuple(shape)}, invalid for {total} elements of {size}",
            needed="the same number of elements, with at most one -1",
        )  # fmt: skip
    return tuple(total // known if s == -1 else s for s in shape)


def view_strides(size: Sizes, strides: Sizes, shape: Sizes) -> Sizes | None:
    """Strides of `shape` over the same elements, None where a copy is needed.

    Runs of dims that are contiguous among themselves may be split and merged.
    """
    if 0 in size:
        return contiguous_strides(shape)
    old = [(n, s) for n, s in zip(size, strides, strict=True) if n != 1]
    found: list[int] = []
    at, left, step = len(old), 1, 1
    for n in reversed(shape):
        if n == 1:
            found.append(step)
            continue
        if left == 1:
            at -= 1
            left, step = old[at]
            while at and old[at - 1][1] == old[at][0] * old[at][1]:
                at -= 1
                left *= old[at][0]
        if left % n:
            return None
        found.append(step)
        left //= n
        step *= n
    return tuple(reversed(found))
