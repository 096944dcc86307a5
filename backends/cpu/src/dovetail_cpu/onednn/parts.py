"""How a batch is cut into parts, which are done one by one and fit the cache.

It depends on sizes alone, so that a call gives the same bits whatever the number of
threads.
"""

from __future__ import annotations

from typing import Final, NamedTuple

BYTES: Final = 1 << 20  # of a part, about: what the second-level cache of a core holds
ENOUGH: Final = 8  # parts are for the threads of most machines


class Run(NamedTuple):
    """Parts of equal size that follow one another.

    Attributes:
        start: the first image.
        images: in each part.
        parts: how many there are.
    """

    start: int
    images: int
    parts: int


def runs(batch: int, nbytes: int, most: int = ENOUGH) -> list[Run]:
    """A batch as parts of one size, and what is left as one more.

    Args:
        batch: how many images there are.
        nbytes: of one image and what becomes of it.
        most: parts that are worthwhile where the cache would hold larger ones.
    """
    images = _images(batch, nbytes, most)
    parts, rest = divmod(batch, images)
    found = [Run(0, images, parts)]
    return [*found, Run(batch - rest, rest, 1)] if rest else found


def _images(batch: int, nbytes: int, most: int) -> int:
    """How many images make a part; a divisor of the batch where one is near."""
    fit = max(1, BYTES // max(nbytes, 1))
    count = min(fit, -(-batch // most))
    whole = (n for n in range(count, count // 2, -1) if batch % n == 0)
    return next(whole, count)
