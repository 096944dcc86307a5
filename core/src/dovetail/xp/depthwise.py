"""Convolution of each channel with a kernel of its own: a sum of shifted products."""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

from dovetail.xp.scratch import scratch
from dovetail.xp.windows import Windows

BLOCK: Final = 1 << 15  # elements


def depthwise(xp: Any, x: Any, weight: Any, y: Any, w: Windows) -> None:
    """Write to `y` the correlation of `x` with `weight`, of stride 1.

    A padded image is one line a channel, a shift an offset in it. What a line's end
    brings in from the next lies outside of the places that are copied to `y`.
    """
    spatial, places = x.shape[2:], y.shape[2:]
    wide = w.wide(spatial, places)
    line = math.prod(wide)
    steps = [math.prod(wide[i + 1 :]) for i in range(len(wide))]
    reach = sum((p - 1) * s for p, s in zip(places, steps, strict=True)) + 1
    taps = list(itertools.product(*map(range, w.kernel)))
    shifts = [
        sum(k * d * s for k, d, s in zip(at, w.dilation, steps, strict=True))
        for at in taps
    ]
    channels = max(1, min(BLOCK // line, x.shape[1]))
    grown = scratch(xp, x, "padded", channels * line, x.dtype).reshape(channels, line)
    grown.fill(0)
    total = scratch(xp, x, "sums", channels * line, x.dtype).reshape(channels, line)
    term = scratch(xp, x, "terms", channels * reach, x.dtype).reshape(channels, reach)
    keep = (..., *(slice(0, p) for p in places))
    for n, c in itertools.product(range(x.shape[0]), range(0, x.shape[1], channels)):
        count = min(channels, x.shape[1] - c)
        grown[:count].reshape(1, count, *wide)[w.inner(spatial)] = x[n, c : c + count]
        sums, part = total[:count, :reach], term[:count]
        for i, (at, shift) in enumerate(zip(taps, shifts, strict=True)):
            tap = weight[(slice(c, c + count), slice(0, 1), *at)]
            source = grown[:count, shift : shift + reach]
            if i:
                xp.add(sums, xp.multiply(source, tap, part), sums)
            else:
                xp.multiply(source, tap, sums)
        y[n, c : c + count] = total[:count].reshape(count, *wide)[keep]
