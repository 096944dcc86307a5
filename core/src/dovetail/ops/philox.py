"""The law of random numbers, and the words that all of them are made of.

**Words.** A seed of 64 bits has a stream of words of 32 bits. Word `i` is lane
`i mod 4` of the block `i div 4`, and block `b` is Philox4x32-10 (Salmon et al. 2011)
with the seed's low and high half as key and the counter `b + 2^64 stream`, both
lowest word first. `stream` is 0, and counts the attempts of samplers that
reject (so the n-th attempt for an element never depends on another element).

**Elements.** An element takes `k` words, 1 or 2 by dtype and range. Element `e` has
the words `k e … k e + k - 1`, so that it lies in one block. A draw of `n` elements at
offset `o`, a multiple of `k`, gives the elements `o/k … o/k + n - 1`, in row-major
order of the result; it advances the generator by `k n` words. Nothing depends on how
a device splits the work, and (between draws of one dtype) nothing on how a program
splits it: `rand(3)` then `rand(5)` are the numbers of `rand(8)`. Two words make 64
bits with the first as the lower half. Where elements are made of the same words, as
normal numbers are, a draw begins with a whole group of them and takes whole groups:
no word is left that already tells of a number, and splits are those into groups.

**Numbers.** Bit-identical everywhere:

- uniform in [0, 1): the word's upper 24 bits (float32), 11 (float16) or 8 (bfloat16),
  or the upper 53 of 64 (float64), as a fraction; so 1 never appears;
- mask with probability p: whether the word is below round(2^32 p);
- integers in [low, high), r of them: the upper half of word * r; where the lower half
  is below 2^b mod r, the same of the next stream (Lemire 2019). b is 32, or 64 (two
  words) for r > 2^32. Exactly unbiased;
- permutation: the indices in the order of their 64-bit words, equal ones by index.

Identical words, and a result within some ulp: normal (Box & Muller 1958) from pairs
of elements `2j`, `2j + 1`: the first gives the radius `sqrt(-2 log u)`, the second
the angle, as a fraction of a turn: all of a word's 32 bits, or the upper 53 of 64
(float64). The even element is the cosine, the odd one the sine. The 16-bit floats
compute in float32 and round once.
"""

# Ops are known by their declarations; what they return is typed where it matters.

from __future__ import annotations

from typing import Any

from dovetail.codegen.philox import LOW32, M0, M1, keys
from dovetail.dtypes import int32
from dovetail.engine.attributes import Scalar
from dovetail.engine.declare import op
from dovetail.engine.inplace import write
from dovetail.engine.kinds import Kind
from dovetail.engine.tensor import Tensor
from dovetail.ops.create import MADE, empty, full
from dovetail.ops.primitive import (
    bitwise_and,
    bitwise_xor,
    clone,
    iota,
    lt,
    shift_right,
    where,
)  # fmt: skip
from dovetail.ops.view import basic_index, reshape


@op(**{**MADE, "shape": lambda *, n, **_: (n,), "result": int32}, draws=1)
def random_words(
    n: int, seed: Scalar, offset: Scalar, stream: Scalar, kind: Kind
) -> Tensor:
    """Words `offset … offset + n - 1` of a seed's stream, as the bits of int32."""
    start = whole(offset)
    skip = start % 4
    blocks = -(-(skip + n) // 4)
    counter = _counter(start // 4, blocks, whole(stream), kind)
    lanes = _rounds(counter, whole(seed))
    y = empty((blocks, 4), kind.with_dtype(int32))
    for lane, word in enumerate(lanes):
        write("random_words", basic_index(y, (slice(None), lane)), word)
    flat = reshape(y, (blocks * 4,))
    return clone(basic_index(flat, (slice(skip, skip + n),)))


def whole(value: Any) -> int:
    """A scalar that is an integer."""
    return int(value)


def _counter(first: int, blocks: int, stream: int, kind: Kind) -> tuple[Tensor, ...]:
    """The four counter words of the blocks from `first`."""
    low = first & LOW32
    kind = kind.with_dtype(int32)
    steps = iota(blocks, kind)
    c0 = steps + low
    high = full((blocks,), _word(first >> 32), kind)
    if low + blocks > LOW32:  # some blocks carry into the upper word
        high = where(below(c0, low), high + 1, high)
    parts = (stream & LOW32, stream >> 32)
    c2, c3 = (full((blocks,), _word(part), kind) for part in parts)
    return c0, high, c2, c3


def _word(bits: int) -> int:
    """32 bits as the int32 that has them."""
    return (bits & LOW32 ^ 1 << 31) - (1 << 31)


def _rounds(counter: tuple[Tensor, ...], seed: int) -> tuple[Tensor, ...]:
    """Philox's rounds on int32, whose products wrap."""
    c0, c1, c2, c3 = counter
    for k0, k1 in keys(seed):
        high0, high1 = upper_product(c0, M0), upper_product(c2, M1)
        low0, low1 = c0 * M0, c2 * M1
        c0 = bitwise_xor(bitwise_xor(high1, c1), k0)
        c2 = bitwise_xor(bitwise_xor(high0, c3), k1)
        c1, c3 = low1, low0
    return c0, c1, c2, c3


def upper_product(a: Tensor, m: int) -> Tensor:
    """The upper half of a product of unsigned words, in halves (Warren, 8-2).

    `a` is int32 or int64, `m` a number of as many bits.
    """
    half = a._kind.dtype.itemsize * 4
    mask = (1 << half) - 1
    m0, m1 = m & mask, m >> half
    a0, a1 = bitwise_and(a, mask), shift_right(a, half)
    t = a1 * m0 + shift_right(a0 * m0, half)
    u = a0 * m1 + bitwise_and(t, mask)
    return a1 * m1 + shift_right(t, half) + shift_right(u, half)


def below(a: Tensor, limit: int) -> Tensor:
    """Whether a < limit as unsigned numbers; `limit` fits in as many bits."""
    sign = 1 << (a._kind.dtype.itemsize * 8 - 1)
    return lt(bitwise_xor(a, sign), limit ^ sign)


def lanes_of(words: Tensor, count: int) -> list[Tensor]:
    """Each of the `count` words an element has, for all elements."""
    table = reshape(words, (-1, count))
    return [basic_index(table, (slice(None), lane)) for lane in range(count)]


def upper_bits(words: Tensor, count: int) -> Tensor:
    """The upper `count` bits of each word, at most 31."""
    return shift_right(words, 32 - count)
