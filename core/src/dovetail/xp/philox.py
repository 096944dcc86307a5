"""The words of `dovetail.ops.philox`, a cache block at a time.

They are computed in 64-bit lanes, where a product of two words is one operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from dovetail.codegen.philox import LOW32, M0, M1, keys
from dovetail.xp.kernels import on_device

# Blocks of four words computed at once. The buffers stay within the L2 cache; they are
# apart by somewhat more than a power of two, which caches would map to one place.
CHUNK: Final = 1 << 14
PADDING: Final = 40


class Philox:
    """Blocks of a seed's stream, into buffers that are used again."""

    def __init__(self, xp: Any, seed: int, stream: int, size: int) -> None:
        def number(value: int) -> Any:  # the library takes these faster than scalars
            return xp.array(value, "uint64")

        self.xp, self.stream = xp, stream
        self.keys = [(number(k0), number(k1)) for k0, k1 in keys(seed)]
        self.factors = number(M0), number(M1)
        self.half, self.low = number(32), number(LOW32)
        self.steps = xp.arange(size, dtype="uint64")
        self.buffers = xp.empty((6, size + PADDING), "uint64")
        self.words = xp.empty((size, 2), "uint64")

    def blocks(self, first: int, count: int) -> Any:
        """The words of `count` blocks from `first`, until the next call.

        Returns:
            [4 count] uint32, little-endian pairs of which are the 64-bit words.
        """
        return self.at(self.steps[:count] + self.xp.uint64(first))

    def at(self, index: Any) -> Any:
        """The words of the blocks with these uint64 numbers."""
        xp, half = self.xp, self.half
        a, b, p, q, c, d = (row[: len(index)] for row in self.buffers)
        xp.bitwise_and(index, self.low, a)
        xp.right_shift(index, half, c)
        b[...] = self.stream & LOW32
        d[...] = self.stream >> 32
        rounds = _rounds(xp, self.keys, self.factors, half, self.low)
        a, b, c, d = rounds(a, b, c, d, p, q)
        words = self.words[: len(index)]
        for lane, (lower, upper) in enumerate(((a, c), (b, d))):
            xp.left_shift(upper, half, upper)
            xp.bitwise_or(lower, upper, words[:, lane])
        return words.view("uint32").reshape(-1)


def _rounds(
    xp: Any, keys: Any, factors: Any, half: Any, low: Any
) -> Callable[..., Any]:
    """Philox's rounds in place on 64-bit lanes.

    `a`, `b` are the counter words 0 and 2; the lower halves of `c`, `d` are the words
    1 and 3 (products of the last round, whose upper halves are spent).
    """
    multiply, shift, xor, mask = (
        xp.multiply,
        xp.right_shift,
        xp.bitwise_xor,
        xp.bitwise_and,
    )
    m0, m1 = factors

    def rounds(a: Any, b: Any, c: Any, d: Any, p: Any, q: Any) -> tuple[Any, ...]:
        for k0, k1 in keys:
            multiply(a, m0, p)
            multiply(b, m1, q)
            for word, product, odd, key in ((a, q, c, k0), (b, p, d, k1)):
                shift(product, half, word)
                xor(word, odd, word)
                xor(word, key, word)
                mask(word, low, word)
            c, d, p, q = q, p, c, d
        return a, b, c, d

    return rounds


def pairs(xp: Any, words: Any) -> Any:
    """Words as integers of 64 bits, which devices read at multiples of 8 bytes."""
    return (words.copy() if on_device(xp) else words).view("uint64")


def chunks(
    xp: Any, count: int, seed: int, offset: int, stream: int = 0
) -> Iterator[tuple[int, Any]]:
    """The words `offset … offset + count - 1` in pieces: where it starts, and it."""
    if not count:
        return
    skip = offset % 4
    source = Philox(xp, seed, stream, min(-(-(skip + count) // 4), CHUNK))
    # Whole pairs of words, wherever the first one lies in its block.
    most = 4 * (CHUNK - 1 if skip else CHUNK)
    for start in range(0, count, most):
        first, at = divmod(offset + start, 4)
        size = min(most, count - start)
        words = source.blocks(first % (1 << 64), -(-(at + size) // 4))
        yield start, words[at : at + size]
