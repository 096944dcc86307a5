"""The law of random numbers: published vectors, and every size on every device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support.draws import SEED, values

import dovetail as dt
from dovetail.engine.kinds import Kind, kind_of
from dovetail.ops import random as ops
from dovetail.ops import random_truth
from dovetail.xp import random_law as law

# Both sides of 2^16 and, for what a body does quickly, of 2^20.
SIZES = (1, 7, (1 << 16) - 1, (1 << 16) + 3)


LARGE = (*SIZES, (1 << 20) + 5)


Pair = tuple[bytes, bytes]


def on_both(make: Callable[[Kind], Any], dtype: Any = dt.float32) -> Pair:
    """The bits that the CPU's kernel and the body on primitives alone give."""
    native, body = (make(kind_of(d, dtype)) for d in ("cpu", "reference"))
    assert native.dtype is body.dtype
    assert tuple(native.shape) == tuple(body.shape)
    return values(native).tobytes(), values(body).tobytes()


@pytest.mark.parametrize(
    ("counter", "key", "block"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000",
         "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
         "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
         "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_published_vectors(device: str, counter: str, key: str, block: str) -> None:
    """Words, and the truth about them, are those of Random123's kat_vectors."""
    c = [int(w, 16) for w in counter.split()]
    k = [int(w, 16) for w in key.split()]
    want = [int(w, 16) for w in block.split()]
    words = ops.random_words(
        4, k[0] + (k[1] << 32), 4 * (c[0] + (c[1] << 32)), c[2] + (c[3] << 32),
        kind_of(device, dt.float32),
    )  # fmt: skip
    assert values(words).view(np.uint32).tolist() == want
    truth = random_truth.blocks(np.array([c], np.uint64), (k[0], k[1]))
    assert truth.tolist() == [want]


@pytest.mark.parametrize("n", LARGE)
def test_words_everywhere(n: int) -> None:
    """Kernel and body give the same words, from any place, across 2^32 blocks too."""
    for offset in (0, 3, 4 * (2**32 - 2) + 1):
        native, body = on_both(lambda k, o=offset: ops.random_words(n, SEED, o, 0, k))
        assert native == body


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float32, dt.float64])
@pytest.mark.parametrize("n", SIZES)
def test_uniforms_everywhere(n: int, dtype: Any) -> None:
    """Uniform floats have the same bits everywhere, scaled or not."""
    for low, high in ((0, 1), (-2, 3.7)):
        native, body = on_both(
            lambda k, a=low, b=high: ops.uniform((n,), a, b, SEED, 6, k), dtype
        )
        assert native == body


@pytest.mark.parametrize("n", LARGE)
def test_masks_everywhere(n: int) -> None:
    """Masks, and so dropout, have the same bits everywhere."""
    for p in (2.0**-32, 0.1, 0.5, 1 - 2.0**-32):
        native, body = on_both(lambda k, p=p: ops.random_mask((n,), p, SEED, 5, k))
        assert native == body


@pytest.mark.parametrize("n", [0, *SIZES])
def test_dropout_everywhere(n: int) -> None:
    """Dropout zeroes the same elements everywhere."""
    x = np.linspace(-3, 3, n, dtype=np.float32)
    native, body = on_both(
        lambda k: ops.random_dropout(dt.tensor(x, device=k.device), 0.3, SEED, 9)
    )
    assert native == body


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (0, 10, dt.int64), (-5, 7, dt.int8), (0, 256, dt.uint8), (3, 4, dt.int16),
        (-(2**31), 2**31, dt.int32), (0, 2**31 + 1, dt.int64),
        (5, 2**32 - 1, dt.uint32), (0, 3 * 2**33, dt.int64),
        (-(2**63), 2**63, dt.int64), (0, 2**63 + 5, dt.uint64),
    ],
)  # fmt: skip
@pytest.mark.parametrize("offset", [6, 5])  # two words may lie in two blocks
@pytest.mark.parametrize("n", SIZES)
def test_integers_everywhere(
    n: int, offset: int, low: int, high: int, dtype: Any
) -> None:
    """Integers have the same bits everywhere, where elements are rejected too."""
    native, body = on_both(
        lambda k: ops.random_integers((n,), low, high, SEED, offset, k), dtype
    )
    assert native == body
    found = np.frombuffer(native, dtype.numpy)
    assert low <= int(found.min())
    assert int(found.max()) < high


@pytest.mark.parametrize("n", [(1 << 20) - 3, (1 << 20) + 5])
def test_small_integers_everywhere(n: int) -> None:
    """So have integers of a small range on both sides of 2^20."""
    native, body = on_both(
        lambda k: ops.random_integers((n,), 0, 10, SEED, 1, k), dt.int64
    )
    assert native == body


@pytest.mark.parametrize("n", [0, 1, 2, 4097, *SIZES[2:]])
def test_permutations_everywhere(n: int) -> None:
    """Permutations are the same everywhere, and hold every index once."""
    native, body = on_both(lambda k: ops.random_permutation(n, SEED, 2, k), dt.int64)
    assert native == body
    assert np.array_equal(np.sort(np.frombuffer(native, np.int64)), np.arange(n))


@pytest.mark.slow
def test_large_permutation_everywhere() -> None:
    """So they are across 2^20."""
    n = (1 << 20) + 5
    native, body = on_both(lambda k: ops.random_permutation(n, SEED, 2, k), dt.int64)
    assert native == body


def test_equal_keys_in_order_of_index() -> None:
    """Equal upper halves are left to the whole keys, then to the index."""
    from dovetail.xp.random import _radix_order

    rng = np.random.default_rng(0)
    keys = rng.integers(0, 40, 4000).astype(np.uint64) << np.uint64(31)
    assert np.array_equal(_radix_order(np, keys), np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float32, dt.float64])
def test_normals_everywhere(dtype: Any) -> None:
    """Normals are of the same words everywhere, within 8 ulp of the radius."""
    n = 70001
    for offset in (0, 6):
        native, body = (
            values(ops.normal((n,), 0, 1, SEED, offset, k)).astype(float)
            for k in (kind_of("cpu", dtype), kind_of("reference", dtype))
        )
        assert np.abs(native - body).max() <= 8 * dt.finfo(dtype).eps * 6


@pytest.mark.parametrize(
    "make", [dt.rand, dt.randn, lambda n, **k: dt.randint(9, (n,), **k)]
)
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16])
def test_split_draws(make: Any, dtype: Any) -> None:
    """Draws of 3, 1 and 8 are those of one of 12; of normals, of 4, 2 and 6."""
    dt.manual_seed(3)
    counts = (4, 2, 6) if make is dt.randn else (3, 1, 8)
    parts = [values(make(n, dtype=dtype)) for n in counts]
    dt.manual_seed(3)
    assert np.array_equal(np.concatenate(parts), values(make(12, dtype=dtype)))


def test_offset_counts_elements() -> None:
    """The offset advances by elements times words an element, whatever the shape."""
    g = dt.Generator()
    for draw, words in (
        (lambda: dt.rand(5, 3, generator=g), 15),
        (lambda: dt.randn((0, 3), generator=g), 1),  # to a pair
        (lambda: dt.randn(3, generator=g), 4),
        (lambda: dt.rand(3, generator=g), 3),
        (lambda: dt.rand(3, dtype=dt.float64, generator=g), 7),  # 23 -> 24, and 6
        (lambda: dt.randint(10, (2, 2), generator=g), 4),
        (lambda: dt.randperm(4, generator=g), 8),
    ):
        before = g.offset
        draw()
        assert g.offset - before == words


@pytest.mark.parametrize("dtype", [dt.float16, dt.float32, dt.float64])
@pytest.mark.parametrize("fill", ["uniform_", "exponential_", "normal_"])
def test_draws_tell_nothing_of_each_other(fill: str, dtype: Any) -> None:
    """A normal number is of words that no other draw has seen, before it or after."""
    dt.manual_seed(5)
    drawn = []
    for _ in range(1500):
        a, b, c = (dt.empty(1, dtype=dtype) for _ in range(3))
        getattr(a, fill)(), b.normal_(), getattr(c, fill)()
        drawn.append([x.item() for x in (a, b, c)])
    a, b, c = np.array(drawn).T
    for other in (a, c):
        for f in (np.asarray, np.abs, np.square):
            assert abs(np.corrcoef(f(other), np.abs(b))[0, 1]) < 0.1


def test_failed_draws_take_nothing() -> None:
    """A draw that there is no memory for leaves the generator where it was."""
    g = dt.Generator().manual_seed(1)
    dt.rand(3, generator=g)
    size = (1 << 27, 1 << 27)
    for draw in (
        lambda: dt.rand(size, generator=g),
        lambda: dt.rand(size, generator=g, dtype=dt.complex64),
        lambda: dt.randn(size, generator=g, dtype=dt.float64),
        lambda: dt.randint(10, size, generator=g),
        lambda: dt.randperm(1 << 54, generator=g),
        lambda: dt.empty(1).expand(size).bernoulli(0.5, generator=g),
    ):
        with pytest.raises(MemoryError):
            draw()
        assert g.offset == 3


def test_words_taken_meanwhile_are_kept() -> None:
    """What a draw that fails gives back are its own words, the last ones taken."""
    g = dt.Generator().manual_seed(1)

    def interrupted(seed: int, place: int) -> None:
        g.reserve(2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        g.spend(5, 1, interrupted)
    assert g.offset == 7


def test_one_never_appears() -> None:
    """The greatest word gives less than 1, and less than `high`, in every dtype."""
    for dtype, bits in law.UNIT_BITS.items():
        top = values(ops._units(_words(0xFFFFFFFF, 2), dtype)).max()
        assert float(top) == 1 - 2.0**-bits
    for high in (3.7, 1e-3, -2.0, 0.0, 8.0, 1e30):
        for dtype in (dt.float16, dt.bfloat16, dt.float32, dt.float64):
            if high <= dt.finfo(dtype).max:
                best = law.greatest_below(-4 * abs(high) - 1, high, dtype)
                a, b = (values(dt.tensor(v, dtype=dtype)) for v in (best, high))
                assert a < b


def test_nothing_is_lost_below_zero() -> None:
    """A range that ends at 0 keeps its small values: only 0 itself is excluded."""
    x = values(dt.empty(200_000).uniform_(-1e-6, 0))
    assert -1e-10 < float(x.max()) < 0
    assert abs(x.mean() + 5e-7) < 1e-8


def _words(word: int, n: int) -> Any:
    return dt.tensor(np.full(n, word, np.uint32).view(np.int32))


def test_integers_are_unbiased() -> None:
    """Of 3·2^30 numbers, each third gets its share: a plain product misses by half."""
    n = 1 << 16
    found = values(dt.randint(3 << 30, (n,)))
    counts = np.bincount(found % 3, minlength=3)
    assert np.abs(counts - n / 3).max() < 5 * math.sqrt(n * 2 / 9)
