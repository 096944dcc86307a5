"""Windows over the spatial axes: where they lie, as strided slices of an input."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

Sizes = Sequence[int]
_ALL = slice(None)


class Windows(NamedTuple):
    """Windows side by side, by a number for each spatial axis.

    Attributes:
        ceil_mode: one may hang over the end.
    """

    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    ceil_mode: bool = False

    def places(self, spatial: Sizes) -> tuple[int, ...]:
        """How many windows each axis of an input has.

        One that hangs over the end must start within the input or the padding before.
        """
        found = []
        for s, k, t, p, d in zip(spatial, *self[:4], strict=True):
            room = s + 2 * p - d * (k - 1) - 1
            count = (room + (t - 1 if self.ceil_mode else 0)) // t + 1
            found.append(count - (self.ceil_mode and (count - 1) * t >= s + p))
        return tuple(found)

    def reach(self, places: Sizes) -> tuple[int, ...]:
        """How far so many windows reach, from the first padded element."""
        axes = zip(places, self.kernel, self.stride, self.dilation, strict=True)
        return tuple((n - 1) * t + d * (k - 1) + 1 for n, k, t, d in axes)

    def wide(self, spatial: Sizes, places: Sizes) -> tuple[int, ...]:
        """Sizes of a padded input that holds all windows."""
        axes = zip(spatial, self.padding, self.reach(places), strict=True)
        return tuple(max(s + 2 * p, r) for s, p, r in axes)

    def margins(self, spatial: Sizes, places: Sizes) -> list[tuple[int, int]]:
        """What an input needs on both sides of each axis to hold all windows."""
        axes = zip(spatial, self.padding, self.reach(places), strict=True)
        return [(p, max(p, r - s - p)) for s, p, r in axes]

    def region(self, at: Sizes, places: Sizes) -> tuple[slice, ...]:
        """Where one offset of the kernel falls in a padded input, for all windows."""
        axes = zip(at, places, self.stride, self.dilation, strict=True)
        return (_ALL, _ALL, *(slice(k * d, k * d + (n - 1) * t + 1, t)
                              for k, n, t, d in axes))  # fmt: skip

    def inner(self, spatial: Sizes) -> tuple[slice, ...]:
        """Where an input lies in its padded form."""
        sides = zip(self.padding, spatial, strict=True)
        return (_ALL, _ALL, *(slice(p, p + s) for p, s in sides))

    def along(self, axis: int, places: Sizes) -> tuple[int, int, int, int, int]:
        """Number of windows, kernel, stride, padding and dilation of a dim."""
        at = axis - 2
        return (places[at], *(values[at] for values in self[:4]))  # type: ignore[return-value]


def grown(xp: Any, x: Any, w: Windows, places: Sizes, value: Any) -> Any:
    """`x` with `value` around it, as far as windows reach."""
    spatial, reach = x.shape[2:], w.reach(places)
    if not any(w.padding) and all(r <= s for r, s in zip(reach, spatial, strict=True)):
        return x
    sizes = zip(spatial, w.padding, reach, strict=True)
    wide = [max(s + p, r) for s, p, r in sizes]
    whole = xp.full((*x.shape[:2], *wide), value, x.dtype)
    whole[w.inner(spatial)] = x
    return whole


def along(axis: int, k: int, n: int, t: int, d: int) -> tuple[Any, ...]:
    """Offset `k` of each of `n` windows along one axis."""
    return (*(_ALL,) * axis, slice(k * d, k * d + (n - 1) * t + 1, t))


class _Steps(NamedTuple):
    """What is known of windows in inputs of one size.

    Attributes:
        places: how many windows each axis has.
        within: whether none reaches beyond the input.
        regions: for each axis, where each offset of the kernel falls.
    """

    places: tuple[int, ...]
    within: bool
    regions: tuple[tuple[tuple[Any, ...], ...], ...]


@lru_cache(256)
def _steps(w: Windows, size: tuple[int, ...]) -> _Steps:
    places = w.places(size)
    reach = zip(w.reach(places), size, strict=True)
    regions = []
    for axis in range(2, len(size) + 2):
        n, k, t, _, d = w.along(axis, places)
        regions.append(tuple([along(axis, i, n, t, d) for i in range(k)]))
    within = not any(w.padding) and all(r <= s for r, s in reach)
    return _Steps(places, within, tuple(regions))


def reduced(
    xp: Any, combine: Any, x: Any, w: Windows, value: Any
) -> tuple[Any, tuple[int, ...]]:
    """`combine` over each window, axis by axis: a fresh array, and how many there are.

    Args:
        value: what lies around `x`.
    """
    places, within, axes = _steps(w, x.shape[2:])
    if not within:
        x = grown(xp, x, w, places, value)
    fresh = False
    for first, *others in axes:
        y = x[first]
        for i, region in enumerate(others):
            y = combine(y, x[region], out=y if i else None)
        fresh, x = fresh or bool(others), y
    return x if fresh and x.flags.c_contiguous else x.copy("C"), places
