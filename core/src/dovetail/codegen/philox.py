"""The generator of random words: Philox4x32-10 (Salmon et al. 2011), in numbers.

A block of four words is what ten rounds make of a counter of four: two lowest words are
the block's number, two highest the stream's. A kernel asks for it with the operation
`"philox"`: its operands are an index, the number of the first block, the seed and the
stream (64-bit unsigned but for the index). A uint32 of index `i` is word `i` from the
first block on; a uint64 is the pair of words `2 i` and `2 i + 1`, the first one being
its lower half. Grids of such kernels begin at multiples of four.
"""

from __future__ import annotations

from typing import Final

M0: Final = 0xD2511F53
M1: Final = 0xCD9E8D57
W0: Final = 0x9E3779B9
W1: Final = 0xBB67AE85
ROUNDS: Final = 10
LOW32: Final = (1 << 32) - 1


def keys(seed: int) -> list[tuple[int, int]]:
    """The key of each round: the seed's halves, bumped by Weyl constants."""
    k0, k1 = seed & LOW32, seed >> 32 & LOW32
    return [((k0 + r * W0) & LOW32, (k1 + r * W1) & LOW32) for r in range(ROUNDS)]
