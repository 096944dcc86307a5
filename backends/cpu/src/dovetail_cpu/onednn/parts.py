"""How a batch is cut into parts, which are done one by one and fit the cache.

It depends on sizes alone, so that a call gives the same bits whatever the number of
threads.
"""

from __future__ import annotations

from typing import Final, NamedTuple

BYTES: Final = 1 << 22  # of a part, about: what a core's share of caches holds
ENOUGH: Final = 8  # parts are for the threads of most machines
_BLOCK: Final = 16  # channels
_PRODUCTS_A_BYTE: Final = 16  # that take several times as long as reading it


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


def runs(batch: int, nbytes: int) -> list[Run]:
    """A batch as parts of one size, and what is left as one more.

    Args:
        batch: how many images there are.
        nbytes: of one image and what becomes of it.
    """
    images = _images(batch, nbytes)
    parts, rest = divmod(batch, images)
    found = [Run(0, images, parts)]
    return [*found, Run(batch - rest, rest, 1)] if rest else found


def _images(batch: int, nbytes: int) -> int:
    """How many images make a part; a divisor of the batch where one is near."""
    fit = max(1, BYTES // max(nbytes, 1))
    count = min(fit, -(-batch // ENOUGH))
    whole = (n for n in range(count, count // 2, -1) if batch % n == 0)
    return next(whole, count)


def blocks(channels: int, shared: int, work: int) -> int:
    """Into how many equal parts channels are cut, each of whole blocks of oneDNN's.

    Args:
        channels: how many there are.
        shared: bytes that every part has to read.
        work: products of all parts together.
    """
    for count in (ENOUGH, ENOUGH // 2, ENOUGH // 4):
        whole = channels % (count * _BLOCK) == 0
        if whole and count * shared * _PRODUCTS_A_BYTE <= work:
            return count
    return 1
