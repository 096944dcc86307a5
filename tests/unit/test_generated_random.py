"""Large random arrays, which generated kernels draw on the CPU."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tests.support import child

import dovetail as dt
from dovetail.codegen import eager_random, random_kernels
from dovetail.codegen.eager import target
from dovetail.codegen.llvm_text import render
from dovetail.codegen.runtime.machine import available
from dovetail.conformance.subject import Subject
from dovetail.ops import random as ops
from dovetail.ops import random_truth as truth
from dovetail.xp.random import _exponential as numpys_exponential
from dovetail.xp.random import _normal as numpys_normal
from dovetail.xp.random import _uniform as numpys_uniform
from dovetail_cpu.patience import CALLS

pytestmark = pytest.mark.skipif(not available(), reason="kernels cannot be compiled")

Array = np.ndarray[Any, Any]
N = 20_003
SEED = (1 << 63) + 12345
OFFSETS = (0, 1, 2, 7, 4 * (2**32 - 3) + 3)


def kind(dtype: dt.dtype) -> Any:
    """What ops that make tensors on the CPU are told."""
    return Subject("cpu").kind(dtype)


@pytest.mark.parametrize("offset", OFFSETS)
def test_words_and_masks(offset: int) -> None:
    """Words and masks are the law's, wherever they begin."""
    words = ops.random_words(N, SEED, offset, 0, kind(dt.int32)).numpy()
    assert np.array_equal(words.view(np.uint32), truth.words(N, SEED, offset))
    mask = ops.random_mask((N,), 0.3, SEED, offset, kind(dt.bool)).numpy()
    assert np.array_equal(mask, truth.mask(N, 0.3, SEED, offset))


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16])
@pytest.mark.parametrize("offset", OFFSETS)
def test_floats_of_16_bits(dtype: dt.dtype, offset: int) -> None:
    """Their fractions are the law's; normal numbers are those of float32, rounded."""
    got = ops.uniform((N,), 0, 1, SEED, offset, kind(dtype)).numpy()
    want = truth.uniform(N, SEED, offset, dtype)
    assert np.array_equal(got.astype(np.float64), want)
    got = ops.normal((N,), 2, 3, SEED, offset, kind(dtype)).numpy()
    wide = ops.normal((N,), 2, 3, SEED, offset, kind(dt.float32)).numpy()
    assert np.array_equal(got.view(np.uint16), wide.astype(got.dtype).view(np.uint16))


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
@pytest.mark.parametrize("offset", OFFSETS)
def test_floats(dtype: dt.dtype, offset: int) -> None:
    """Fractions are the law's, and normal numbers within 8 ulp of their radius.

    Draws of 64 bits may begin in the midst of what an element takes elsewhere.
    """
    got = ops.uniform((N,), 0, 1, SEED, offset, kind(dtype)).numpy()
    assert np.array_equal(got, truth.uniform(N, SEED, offset, dtype))
    for count in (N, N + 1, N + 2):
        got = ops.normal((count,), 0, 1, SEED, offset, kind(dtype)).numpy()
        want, radius = truth.normal(count, SEED, offset, dtype)
        assert (np.abs(got - want) <= 8 * np.spacing(radius.astype(got.dtype))).all()


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
@pytest.mark.parametrize("offset", OFFSETS)
def test_exponential_numbers(dtype: dt.dtype, offset: int) -> None:
    """They are within 1.5 ulp of the law's, with the bits of NumPy's steps."""
    got = ops.exponential((N,), 2.0, SEED, offset, kind(dtype)).numpy()
    want = truth.exponential(N, SEED, offset, dtype) / 2
    assert (np.abs(got - want) <= 1.5 * np.spacing(want.astype(got.dtype))).all()
    own = numpys_exponential(np, (N,), dtype, 0, 2.0, SEED, offset)
    assert np.array_equal(got, own)


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_spans_are_numpys(dtype: dt.dtype) -> None:
    """Between two numbers, large draws have the bits that NumPy's kernel gives."""
    draw = (SEED, 6, kind(dtype))
    for low, high in ((-1.0, 0.0), (0.1, 0.7), (-3e4, 7e4), (2.0, 2.0)):
        whole = ops.uniform((N,), low, high, *draw).numpy()
        want = numpys_uniform(np, (N,), dtype, 0, low, high, SEED, 6)
        assert np.array_equal(whole, want)
        assert (whole >= low).all()
        assert (whole < high).all() or low == high


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16, dt.bfloat16])
@pytest.mark.parametrize("offset", [0, 5, 6, 4 * (2**32 - 3) + 2])
def test_normals_are_numpys(dtype: dt.dtype, offset: int) -> None:
    """Normal numbers have the bits that NumPy's kernel gives, moved or not."""
    for mean, std in ((0, 1), (0.1, 0.7)):
        draw = (mean, std, SEED, offset)
        got = ops.normal((4 * N,), *draw, kind(dtype)).numpy()
        with np.errstate(all="ignore"):
            want = numpys_normal(np, (4 * N,), dtype, 0, *draw)
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_every_processor_draws_the_same_normals(dtype: dt.dtype) -> None:
    """Nothing is rounded once where another processor would round twice."""
    for moved in (False, True):
        form = random_kernels.normal(dtype.name, moved)
        assert "llvm.fma" not in render(form, target())


@pytest.mark.parametrize("dtype", [dt.int32, dt.int64])
@pytest.mark.parametrize("offset", OFFSETS)
def test_integers(dtype: dt.dtype, offset: int) -> None:
    """Integers are the law's, for spans of every size."""
    for low, high in ((0, 10), (-7, -4), (0, 1), (-(2**31), 2**31), (3, 2**31)):
        got = ops.random_integers((N,), low, high, SEED, offset, kind(dtype)).numpy()
        assert np.array_equal(got, truth.integers(N, low, high, SEED, offset))


@pytest.mark.parametrize("offset", [0, 6, 4 * (2**32 - 3) + 2])
def test_permutations(offset: int) -> None:
    """Permutations are the law's."""
    got = ops.random_permutation(N, SEED, offset, kind(dt.int64)).numpy()
    assert np.array_equal(got, truth.permutation(N, SEED, offset))


def test_rejected_integers_are_drawn_again() -> None:
    """Some words mean no integer of a span; those elements go on in the next stream."""
    span, count = 65899, 300_000  # 65870 of 2**32 words are rejected
    _, again = eager_random.integers((count,), np.dtype("int64"), 0, span, SEED, 5)
    assert again
    got = ops.random_integers((count,), 0, span, SEED, 5, kind(dt.int64)).numpy()
    assert np.array_equal(got, truth.integers(count, 0, span, SEED, 5))


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16, dt.bfloat16])
@pytest.mark.parametrize("offset", [0, 5, 6])
def test_dropout(dtype: dt.dtype, offset: int) -> None:
    """What is kept is scaled, the rest 0, by the law's mask; and so is the gradient."""
    x = np.random.default_rng(0).normal(size=N).astype(dtype.numpy)
    x[:3] = np.inf, np.nan, -0.0
    given = dt.from_numpy(x).requires_grad_()
    y = ops.random_dropout(given, 0.3, SEED, offset)
    wide = np.float64 if dtype is dt.float64 else np.float32
    scaled = truth.mask(N, 1 - 0.3, SEED, offset) * wide(1 / 0.7)
    with np.errstate(invalid="ignore"):
        want = (x * scaled).astype(x.dtype)  # rounded once
    assert np.array_equal(y.detach().numpy(), want, equal_nan=True)
    y.backward(dt.ones_like(y))
    assert np.array_equal(given.grad.numpy(), scaled.astype(x.dtype))


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16, dt.bfloat16])
def test_trials(dtype: dt.dtype) -> None:
    """1 where the fraction is below the probability, never at 0, always at 1."""
    p = np.random.default_rng(0).random(N).astype(dtype.numpy)
    p[:2] = 0, 1
    got = ops.random_trials(dt.from_numpy(p), SEED, 2).numpy()
    wide = dt.float64 if dtype is dt.float64 else dt.float32
    assert np.array_equal(got, truth.uniform(N, SEED, 2, wide) < p.astype(np.float64))


def test_a_draw_in_parts_is_the_same() -> None:
    """`rand(3)` and `rand(n - 3)` are the numbers of `rand(n)`."""
    both = [dt.Generator().manual_seed(5) for _ in range(2)]
    parts = [dt.rand(n, generator=both[0]).numpy() for n in (3, N)]
    whole = dt.rand(N + 3, generator=both[1]).numpy()
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("offset", range(4))
@pytest.mark.parametrize("count", range(6))
def test_a_few_elements(offset: int, count: int) -> None:
    """Fewer than there are in a block, from anywhere in it on."""
    got = eager_random.uniform((count,), np.dtype("float32"), SEED, offset, None)
    assert np.array_equal(got, truth.uniform(count, SEED, offset, dt.float32))
    got = eager_random.normal((count,), np.dtype("float32"), SEED, offset, None)
    want, _ = truth.normal(count, SEED, offset, dt.float32)
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_threads_draw_the_same() -> None:
    """Bits do not depend on how many threads there are."""
    before = dt.get_num_threads()
    made = []
    try:
        for threads in (1, 2):
            dt.set_num_threads(threads)
            made.append(dt.randn(200_000, generator=dt.Generator().manual_seed(1)))
    finally:
        dt.set_num_threads(before)
    assert np.array_equal(made[0].numpy(), made[1].numpy())


def test_small_draws_compile_nothing() -> None:
    """Small arrays are drawn without llvmlite."""
    code = "import sys, dovetail as d; d.randn(99); print('llvmlite' in sys.modules)"
    assert child.run(sys.executable, "-c", code).stdout.strip() == "False"


@pytest.mark.parametrize("shape", [(0,), (), (5,), (3, 33)])
def test_a_kernel_that_is_there_draws_any_number(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a large draw, small ones are generated too, with the bits that they had."""
    draw = (SEED, 6, kind(dt.float64))
    ops.normal((N,), 0, 1, *draw)
    drawn: list[Any] = []
    own = eager_random.normal

    def noted(*args: Any) -> Array:
        drawn.append(args[0])
        return own(*args)

    monkeypatch.setattr(eager_random, "normal", noted)
    got = ops.normal(shape, 0, 1, *draw).numpy()
    assert drawn == [shape]
    want = numpys_normal(np, shape, dt.float64, 0, 0, 1, SEED, 6)
    assert got.shape == shape
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("shape", [(0,), (), (5,), (3, 33)])
def test_many_small_draws_have_the_bits_of_the_first(shape: tuple[int, ...]) -> None:
    """Of integers and trials: a kernel takes over, and nobody sees it."""

    def drawn() -> list[bytes]:
        dt.manual_seed(SEED)
        found = dt.randint(-3, 7, shape), dt.bernoulli(dt.full(shape, 0.3))
        return [x.numpy().tobytes() for x in found]

    first = drawn()
    assert all(drawn() == first for _ in range(CALLS + 2))
