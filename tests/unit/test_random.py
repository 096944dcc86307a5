"""The law of random numbers, generators, and torch's names for both.

That every op obeys its oracle (the law in plain Python) is proven in
test_vocabulary.py; here are published vectors, large sizes and what programs rely on.
"""

from __future__ import annotations

import copy
import math
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import random as dt_random
from dovetail.conformance import reference
from dovetail.engine.kinds import Kind, kind_of
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    DTypeError,
    InplaceError,
)  # fmt: skip
from dovetail.ops import random as ops
from dovetail.ops import random_truth
from dovetail.xp import random_law as law

# Both sides of 2^16 and, for what a body does quickly, of 2^20.
SIZES = (1, 7, (1 << 16) - 1, (1 << 16) + 3)
LARGE = (*SIZES, (1 << 20) + 5)
SEED = 0x243F6A8885A308D3


@pytest.fixture(scope="module", autouse=True)
def _devices() -> None:
    reference.install()


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    with dt_random.fork_rng():
        dt.manual_seed(7)
        yield


def values(t: Any) -> np.ndarray[Any, Any]:
    return t._kind.backend.copy_out(t._a)  # type: ignore[no-any-return]


Pair = tuple[bytes, bytes]


def on_both(make: Callable[[Kind], Any], dtype: Any = dt.float32) -> Pair:
    """The bits that the CPU's kernel and the body on primitives alone give."""
    native, body = (make(kind_of(d, dtype)) for d in ("cpu", "reference"))
    assert native.dtype is body.dtype
    assert tuple(native.shape) == tuple(body.shape)
    return values(native).tobytes(), values(body).tobytes()


# ---- the law


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
@pytest.mark.parametrize("n", SIZES)
def test_integers_everywhere(n: int, low: int, high: int, dtype: Any) -> None:
    """Integers have the same bits everywhere, where elements are rejected too."""
    native, body = on_both(
        lambda k: ops.random_integers((n,), low, high, SEED, 6, k), dtype
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
    """Draws of 3, 1 and 8 elements are those of one draw of 12."""
    dt.manual_seed(3)
    parts = [values(make(n, dtype=dtype)) for n in (3, 1, 8)]
    dt.manual_seed(3)
    assert np.array_equal(np.concatenate(parts), values(make(12, dtype=dtype)))


def test_offset_counts_elements() -> None:
    """The offset advances by elements times words an element, whatever the shape."""
    g = dt.Generator()
    for draw, words in (
        (lambda: dt.rand(5, 3, generator=g), 15),
        (lambda: dt.randn((0, 3), generator=g), 0),
        (lambda: dt.rand(3, dtype=dt.float64, generator=g), 7),  # 15 -> 16, and 6
        (lambda: dt.randint(10, (2, 2), generator=g), 4),
        (lambda: dt.randperm(4, generator=g), 8),
    ):
        before = g.offset
        draw()
        assert g.offset - before == words


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


# ---- moments


@pytest.mark.parametrize(
    ("fill", "mean", "variance"),
    [
        (lambda t: t.uniform_(2, 5), 3.5, 0.75),
        (lambda t: t.normal_(1, 2), 1, 4),
        (lambda t: t.exponential_(2), 0.5, 0.25),
        (lambda t: t.geometric_(0.25), 4, 12),
        (lambda t: t.log_normal_(0, 0.5), math.exp(1 / 8), 0.36469585),
        (lambda t: t.bernoulli_(0.3), 0.3, 0.21),
        (lambda t: t.random_(2, 12), 6.5, 8.25),
        (lambda t: dt.dropout(t.fill_(1), 0.2), 1, 0.25),
        (lambda t: dt.alpha_dropout(t.normal_(), 0.2), 0, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_moments(fill: Any, mean: float, variance: float, dtype: Any) -> None:
    """Mean and variance are within five standard errors or so."""
    n = 100_000
    x = values(fill(dt.empty(n, dtype=dtype))).astype(float)
    assert abs(x.mean() - mean) < 5 * math.sqrt(variance / n)
    assert abs(x.var() - variance) < 0.06 * variance


def test_normals_have_normal_tails() -> None:
    """The distribution function is the normal one (Kolmogorov–Smirnov at 1e-6)."""
    n = 200_000
    x = np.sort(values(dt.randn(n)).astype(float))
    expected = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x[::100]])
    assert np.abs(expected - np.arange(0, n, 100) / n).max() < 2.7 / math.sqrt(n)
    assert 4 < x[-1] < 6.8


def test_median_of_cauchy() -> None:
    """A Cauchy distribution has its quartiles at median ± sigma."""
    x = values(dt.empty(100_000).cauchy_(3, 2))
    assert np.allclose(np.quantile(x, [0.25, 0.5, 0.75]), [1, 3, 5], atol=0.1)


def test_multinomial_frequencies() -> None:
    """Indices come in proportion to their weights, and never those of weight 0."""
    w = dt.tensor([[1.0, 2.0, 0.0, 7.0], [3.0, 0.0, 1.0, 1.0]])
    drawn = values(dt.multinomial(w, 50_000, True))
    counts = [np.bincount(row, minlength=4) for row in drawn]
    expected = np.array([[0.1, 0.2, 0, 0.7], [0.6, 0, 0.2, 0.2]])
    assert np.allclose(np.stack(counts) / 50_000, expected, atol=0.012)
    first = values(dt.multinomial(w[:1].expand(20_000, 4), 1))[:, 0]
    assert np.allclose(np.bincount(first, minlength=4) / 20_000, expected[0], atol=0.02)


def test_multinomial_without_replacement() -> None:
    """Each index comes once."""
    found = values(dt.multinomial(dt.rand(50, 9) + 0.1, 9))
    assert np.array_equal(np.sort(found), np.tile(np.arange(9), (50, 1)))


# ---- gradients and memory


def test_gradient_of_dropout() -> None:
    """It is the mask over 1 - p: that of the same call."""
    x = dt.ones(4, 50, requires_grad=True)
    y = dt.dropout(x, 0.25)
    y.sum().backward()
    assert np.array_equal(values(x.grad), values(y.detach()))
    assert set(values(y.detach()).ravel().tolist()) <= {0.0, np.float32(4 / 3).item()}


def test_dropout_outside_training() -> None:
    """It is the input itself, and takes no random numbers."""
    x = dt.ones(3)
    state = dt.get_rng_state()
    assert dt.dropout(x, 0.5, False) is x
    assert dt.dropout(x, 0.0) is x
    assert dt.equal(dt.get_rng_state(), state)
    assert values(dt.dropout(x, 1.0)).tolist() == [0, 0, 0]


def test_fill_of_a_view() -> None:
    """In-place draws write a strided view and nothing else, and count as writes."""
    x = dt.zeros(4, 6)
    version = x._version
    x.t()[1::2].uniform_(1, 2)
    found = values(x)
    assert x._version > version
    assert (found[:, 1::2] >= 1).all()
    assert not found[:, 0::2].any()


def test_fill_of_a_leaf_refused() -> None:
    """A leaf that requires gradients is left alone, and so is the generator."""
    x = dt.zeros(3, requires_grad=True)
    state = dt.get_rng_state()
    with pytest.raises(InplaceError, match="leaf"):
        x.normal_()
    assert dt.equal(dt.get_rng_state(), state)
    with dt.no_grad():
        assert values(x.normal_().detach()).any()


def test_dropout_of_a_transposed_tensor() -> None:
    """The mask follows the order of the elements, not of the memory."""
    x = dt.ones(5, 7)
    state = dt.get_rng_state()
    plain = values(dt.dropout(x, 0.5))
    dt.set_rng_state(state)
    turned = values(dt.dropout(dt.ones(7, 5).t(), 0.5))
    assert np.array_equal(plain, turned)


# ---- generators


def test_manual_seed_repeats() -> None:
    """A seed starts the same stream, on every device."""
    drawn = []
    for _ in range(2):
        assert dt.manual_seed(-3).initial_seed() == 2**64 - 3
        drawn.append(
            [values(dt.randn(5, device=d)).tolist() for d in ("cpu", "reference")]
        )
    assert drawn[0] == drawn[1]
    assert np.allclose(drawn[0][0], drawn[0][1])


def test_seed_differs() -> None:
    """A seed from the operating system is not the last one."""
    assert dt.seed() != dt.seed()


def test_new_generators_stand_where_torchs_do() -> None:
    """Every new generator has one seed, which is torch's."""
    assert dt.Generator().initial_seed() == dt.Generator().initial_seed()
    assert dt.Generator().initial_seed() == 67280421310721
    assert dt.initial_seed() == dt_random.initial_seed()


def test_state_returns_to_a_place() -> None:
    """A state is a uint8 tensor on the CPU, and brings back what followed it."""
    g = dt.Generator().manual_seed(SEED)
    dt.rand(3, generator=g)
    state = g.get_state()
    assert (state.dtype, state.device) == (dt.uint8, dt.device("cpu"))
    after = values(dt.rand(5, generator=g))
    g.set_state(state)
    assert np.array_equal(after, values(dt.rand(5, generator=g)))


@pytest.mark.parametrize(
    "copied",
    [
        lambda g: g.clone_state(),
        copy.deepcopy,
        lambda g: pickle.loads(pickle.dumps(g)),
    ],
)
def test_copies_of_a_generator(copied: Any) -> None:
    """A copy goes on from the same place by itself."""
    g = dt.Generator().manual_seed(4)
    dt.rand(3, generator=g)
    twin = copied(g)
    first = values(dt.rand(4, generator=twin))
    assert np.array_equal(first, values(dt.rand(4, generator=g)))
    assert twin.device == g.device


def test_fork_rng_restores() -> None:
    """Draws within leave those after as they would have been."""
    state = dt.get_rng_state()
    after = values(dt.rand(3))
    dt.set_rng_state(state)
    with dt_random.fork_rng():
        dt.manual_seed(1)
        dt.rand(3, device="reference")
    assert np.array_equal(after, values(dt.rand(3)))
    with dt_random.fork_rng(enabled=False):
        assert not np.array_equal(after, values(dt.rand(3)))


def test_draws_from_many_threads() -> None:
    """No two threads get the same words, and none is lost."""
    g = dt.Generator().manual_seed(1)
    found: list[Any] = []

    def draw() -> None:
        for _ in range(50):
            found.append(values(dt.randint(2**31, (16,), generator=g)))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    g.manual_seed(1)
    whole = values(dt.randint(2**31, (4 * 50 * 16,), generator=g))
    assert np.array_equal(np.sort(np.concatenate(found)), np.sort(whole))


# ---- bad input


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dt.rand(2, generator=dt.Generator("reference")), DeviceError,
         "rand: generator is on reference:0, needed cpu"),
        (lambda: dt.rand(2, generator=3), ArgumentTypeError, "generator is a int"),
        (lambda: dt.randn(2, dtype=dt.int32), DTypeError, "randn: dtype is int32"),
        (lambda: dt.randint(5, 5, (2,)), ArgumentError, "randint: low is 5, needed"),
        (lambda: dt.randint(0, 300, (2,), dtype=dt.uint8), ArgumentError,
         r"randint: range is \[0, 300\), needed within uint8's"),
        (lambda: dt.randperm(-1), ArgumentError, "randperm: n is -1"),
        (lambda: dt.randperm(200, dtype=dt.int8), ArgumentError, "at most 128"),
        (lambda: dt.normal(0.0, -1.0, (2,)), ArgumentError, "normal: std is -1"),
        (lambda: dt.normal(dt.zeros(1), dt.tensor([-2.0])), ArgumentError, "low as -2"),
        (lambda: dt.bernoulli(dt.tensor([0.5, 1.5])), ArgumentError, "bernoulli: p is"),
        (lambda: dt.bernoulli(dt.tensor([math.nan])), ArgumentError, "bernoulli: p is"),
        (lambda: dt.dropout(dt.ones(2), 1.5), ArgumentError, "dropout: p is 1.5"),
        (lambda: dt.feature_dropout(dt.ones(2), 0.5), dt.errors.ShapeError, "2 dims"),
        (lambda: dt.empty(2).uniform_(2, 1), ArgumentError, "uniform_: from is 2"),
        (lambda: dt.empty(2).exponential_(0), ArgumentError, "lambd is 0"),
        (lambda: dt.empty(2).geometric_(0), ArgumentError, "geometric_: p is 0"),
        (lambda: dt.multinomial(dt.tensor([1.0, -1.0]), 1), ArgumentError, "negative"),
        (lambda: dt.multinomial(dt.zeros(3), 1), ArgumentError, "all 0"),
        (lambda: dt.multinomial(dt.ones(3), 4), ArgumentError, "num_samples is 4"),
        (lambda: dt.manual_seed(2**64), ArgumentError, "seed is 18446744073709551616"),
        (lambda: dt.set_rng_state(dt.zeros(16)), DTypeError, "float32, needed uint8"),
        (lambda: dt.set_rng_state(dt.zeros(3, dtype=dt.uint8)), ArgumentError, "16"),
    ],
)  # fmt: skip
def test_refused(call: Any, error: type[Exception], words: str) -> None:
    """Messages name op, argument, fact and need; no words are used."""
    state = dt.get_rng_state()
    with pytest.raises(error, match=words):
        call()
    assert dt.equal(dt.get_rng_state(), state)


def test_on_meta() -> None:
    """The meta device gives shapes, and uses no words."""
    state = dt.get_rng_state()
    x = dt.randn(3, 4, device="meta")
    assert tuple(dt.dropout(x, 0.5).shape) == (3, 4)
    assert tuple(dt.randperm(5, device="meta").shape) == (5,)
    assert tuple(dt.multinomial(dt.rand(3, 4, device="meta"), 2).shape) == (3, 2)
    assert dt.equal(dt.get_rng_state(), state)


def test_seeds_are_no_plan_keys() -> None:
    """Calls that differ by seed and place alone share one plan."""
    dt.rand(11)
    plans = len(ops.uniform.op.plans)
    for seed in range(5):
        dt.manual_seed(seed)
        dt.rand(11)
    assert len(ops.uniform.op.plans) == plans
