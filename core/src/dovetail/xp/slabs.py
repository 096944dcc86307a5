"""Large arrays in slabs that stay in the cache while several passes go over them."""

from __future__ import annotations

from typing import Any, Final

from dovetail.xp.kernels import on_device

# 512 KiB of float32: what fits the second-level cache of most cores.
SLAB = 1 << 17
_WHOLE: Final[tuple[Any, ...]] = (...,)


def slabs(xp: Any, x: Any, dims: tuple[int, ...]) -> tuple[Any, ...]:
    """Indices of parts of `x` of about SLAB elements, all of it along `dims`.

    Only the first dim is cut: parts in between lie scattered, and gain nothing. Nor is
    it on a device, which would have several launches for one.
    """
    if x.size <= SLAB or on_device(xp):
        return _WHOLE
    shape = x.shape
    axis = next(d for d, n in enumerate(shape) if n > 1)
    if axis in dims:
        return _WHOLE
    step = max(1, SLAB * shape[axis] // x.size)
    before = (slice(None),) * axis
    return tuple((*before, slice(at, at + step)) for at in range(0, shape[axis], step))
