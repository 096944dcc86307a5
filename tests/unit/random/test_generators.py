"""Generators, and draws that are refused."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from tests.support.draws import SEED, values

import dovetail as dt
from dovetail import random as dt_random
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    DTypeError,
)
from dovetail.ops import random as ops

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
        (lambda: dt.rand(2, generator=3), ArgumentTypeError, "generator is 3 .int."),
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
        (lambda: dt.dropout(dt.ones(2), 1.5, True), ArgumentError, "dropout: p is 1.5"),
        (lambda: dt.feature_dropout(dt.ones(2), 0.5, True), RuntimeError, "2 dims"),
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
    assert tuple(dt.dropout(x, 0.5, True).shape) == (3, 4)
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


def test_the_default_generator_has_a_name() -> None:
    """It is the object whose stream draws take, and that `manual_seed` returns."""
    own = dt.default_generator
    assert own is dt.random.default_generator is dt.manual_seed(5)
    first = dt.rand(2)
    assert own.offset > 0
    own.manual_seed(5)
    assert dt.equal(dt.rand(2, generator=own), first)
    assert "default_generator" in dir(dt)
