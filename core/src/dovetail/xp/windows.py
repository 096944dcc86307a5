"""Windows over the spatial axes as strided slices, one axis after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Sizes = Sequence[int]


def places_of(
    spatial: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
    ceil_mode: bool = False,
) -> tuple[int, ...]:  # fmt: skip
    """How many windows each axis has; with `ceil_mode`, one may hang over the end.

    Such a window must start within the input or the padding before it.
    """
    found = []
    for s, k, t, p, d in zip(spatial, kernel, stride, padding, dilation, strict=True):
        room = s + 2 * p - d * (k - 1) - 1
        count = (room + (t - 1 if ceil_mode else 0)) // t + 1
        found.append(count - (ceil_mode and (count - 1) * t >= s + p))
    return tuple(found)


def reach_of(
    places: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes
) -> tuple[int, ...]:
    """How far windows reach, from the first padded element."""
    return tuple(
        (n - 1) * t + d * (k - 1) + 1
        for n, k, t, d in zip(places, kernel, stride, dilation, strict=True)
    )


def grown(xp: Any, x: Any, padding: Sizes, reach: Sizes, value: Any) -> Any:
    """`x` with `value` around it, as far as windows reach."""
    spatial = x.shape[2:]
    if not any(padding) and all(r <= s for r, s in zip(reach, spatial, strict=True)):
        return x
    wide = [max(s + p, r) for s, p, r in zip(spatial, padding, reach, strict=True)]
    whole = xp.full((*x.shape[:2], *wide), value, x.dtype)
    whole[inner_of(spatial, padding)] = x
    return whole


def inner_of(spatial: Sizes, padding: Sizes) -> tuple[Any, ...]:
    """Where an input lies in its padded form."""
    return (..., *(slice(p, p + s) for s, p in zip(spatial, padding, strict=True)))


def along(axis: int, k: int, n: int, t: int, d: int) -> tuple[Any, ...]:
    """Offset `k` of each of `n` windows along one axis."""
    return (*(slice(None),) * axis, slice(k * d, k * d + (n - 1) * t + 1, t))


def reduced(
    xp: Any, combine: Any, x: Any, places: Sizes, kernel: Sizes, stride: Sizes,
    dilation: Sizes,
) -> Any:  # fmt: skip
    """`combine` over each window, axis by axis; a fresh array."""
    geometry = zip(places, kernel, stride, dilation, strict=True)
    fresh = False
    for axis, (n, k, t, d) in enumerate(geometry, 2):
        y = x[along(axis, 0, n, t, d)]
        for i in range(1, k):
            part = x[along(axis, i, n, t, d)]
            y = combine(y, part) if i == 1 else combine(y, part, out=y)
        fresh, x = fresh or k > 1, y
    return x if fresh and x.flags.c_contiguous else x.copy("C")
