"""Weighted sums of elements at any places.

Taps are added in the order in which generated kernels add them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.dtypes import FLOAT, HALF


def _found(xp: Any, x: Any, index: Any) -> Any:
    """[n, c, k, p]: the elements at the taps; 0 outside."""
    n, c, size = x.shape
    _, k, p = index.shape
    within = index.view("u8") < size
    if within.all():
        places, within = index, None
    else:
        places = xp.where(within, index, 0)
    if n == 1:
        found = x[0].take(places[0].reshape(-1), 1).reshape(1, c, k, p)
    else:
        lines = xp.broadcast_to(places.reshape(n, 1, k * p), (n, c, k * p))
        found = xp.take_along_axis(x, lines, 2).reshape(n, c, k, p)
    return (
        found if within is None else xp.where(within[:, None], found, x.dtype.type(0))
    )


def _tap_sum(xp: Any, x: Any, index: Any, weight: Any) -> Any:
    if not x.shape[2] or not index.shape[1]:
        return _of_zeros(xp, x, index, weight)
    terms = _found(xp, x, index)
    terms *= weight[:, None]
    return xp.add.reduce(terms, 2, initial=0)


def _of_zeros(xp: Any, x: Any, index: Any, weight: Any) -> Any:
    """What there is where all taps are outside: zeros times their weights."""
    share = xp.add.reduce(weight * x.dtype.type(0), 1, initial=0)
    return xp.repeat(share[:, None], x.shape[1], 1)


def _tap_spread(xp: Any, x: Any, index: Any, weight: Any, size: int) -> Any:
    n, c, _ = x.shape
    y = xp.zeros((n * c * size,), x.dtype)
    if not y.size or not index.size:
        return y.reshape(n, c, size)
    within = index.view("u8") < size
    share = x[:, :, None] * weight[:, None]
    lines = xp.arange(n * c).reshape(n, c, 1, 1) * size
    places = lines + index[:, None]
    if within.all():
        # One place after the other, and of each its taps.
        at, share = places.swapaxes(2, 3).reshape(-1), share.swapaxes(2, 3).reshape(-1)
    else:
        kept = xp.broadcast_to(within[:, None], share.shape).swapaxes(2, 3)
        at, share = places.swapaxes(2, 3)[kept], share.swapaxes(2, 3)[kept]
    xp.add.at(y, at, share)
    return y.reshape(n, c, size)


def _tap_dot(xp: Any, x: Any, index: Any, other: Any) -> Any:
    if not other.shape[2]:
        zeros = xp.add.reduce(x * x.dtype.type(0), 1, initial=0)
        return xp.repeat(zeros[:, None], index.shape[1], 1)
    terms = _found(xp, other, index)
    terms *= x[:, :, None]
    return xp.add.reduce(terms, 1, initial=0)


def _rounded_once(kernel: Any, xp: Any) -> Callable[..., Any]:
    """A kernel of 16-bit floats, computed in float32."""

    def call(x: Any, index: Any, other: Any, **attributes: Any) -> Any:
        wide = x.astype("float32"), index, other.astype("float32")
        return xp.ascontiguousarray(kernel(xp, *wide, **attributes).astype(x.dtype))

    return call


def _of_floats(kernel: Any, xp: Any) -> Callable[..., Any]:
    def call(x: Any, index: Any, other: Any, **attributes: Any) -> Any:
        places = index.astype("int64", copy=False)
        # Sums of terms lie as the terms do.
        return xp.ascontiguousarray(kernel(xp, x, places, other, **attributes))

    return call


def install(table: Any, xp: Any) -> None:
    """Add them to a table."""
    for op, kernel in _KERNELS.items():
        table.add(op, _of_floats(kernel, xp), dtypes=FLOAT - HALF)
        table.add(op, _rounded_once(kernel, xp), dtypes=HALF)


_KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "tap_sum": _tap_sum, "tap_spread": _tap_spread, "tap_dot": _tap_dot,
}  # fmt: skip
