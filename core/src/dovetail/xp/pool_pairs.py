"""Gradients of maxima of windows of 2 x 2, in passes over memory without gaps.

What a pass finds at places where no window starts is garbage, and left out at the end:
rows of images are short, and strided passes over them take several times as long.
Pairs of bytes, and of 32-bit numbers, are handled as one number of twice the width.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail.xp.windows import Windows

_TILES: Final = Windows((2, 2), (2, 2), (0, 0), (1, 1))


def serves(w: Windows, x: Any) -> bool:
    """Whether windows are of 2 x 2 and fill images of float32 that are not empty."""
    even = x.ndim == 4 and x.shape[2] % 2 == x.shape[3] % 2 == 0
    return w[:4] == _TILES[:4] and even and x.size > 0 and x.dtype == "float32"


def sent_to_pairs(xp: Any, dy: Any, x: Any) -> Any:
    """`dy` where the first maximum of each window is, else 0; `x` has no NaN."""
    mask = _chosen(xp, xp.ascontiguousarray(x)).astype("int32")
    wide = xp.ascontiguousarray(dy).view("uint32").astype("uint64")
    wide |= wide << 32
    mask &= xp.repeat(wide, 2, 2).view("int32")
    return mask.view(dy.dtype)


def _chosen(xp: Any, x: Any) -> Any:
    """-1 as int8 at the first maximum of each window, else 0."""
    width = x.shape[3]
    flat = x.reshape(-1)
    right, below = xp.empty(x.shape, bool), xp.empty(x.shape, bool)
    xp.greater(flat[1:], flat[:-1], out=right.reshape(-1)[:-1])
    best = xp.maximum(flat[1:], flat[:-1])
    xp.greater(best[width:], best[:-width], out=below.reshape(-1)[: -width - 1])
    # from here on a number a pair, its low byte being that of the even column
    top = xp.zeros((x.shape[2], width // 2), "<u2")
    top[::2] = 1
    lower = below.view("<u2")
    lower &= top
    here = lower ^ top
    here.reshape(-1)[width // 2 :] |= lower.reshape(-1)[: -(width // 2)]
    pair = right.view("<u2")
    pair &= 1
    pair *= 255
    pair += 1  # 1 in the low byte, or in the high one
    pair *= here
    signs = pair.view("int8")
    return xp.negative(signs, out=signs)
