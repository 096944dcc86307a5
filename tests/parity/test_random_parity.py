"""Random names beside torch: shapes, dtypes, errors, moments. The numbers differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt
from dovetail import random as dt_random


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    with dt_random.fork_rng(), torch.random.fork_rng(devices=[]):
        dt.manual_seed(11)
        torch.manual_seed(11)
        yield


def outcome(call: Any, lib: Any) -> Any:
    """Shape and dtype of a result, or the kind of refusal."""
    try:
        y = call(lib)
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError):
        return "refused"
    return tuple(y.shape), str(y.dtype).rpartition(".")[2], y.requires_grad


FORMS = {
    "rand()": lambda t: t.rand(()),
    "rand(2, 3)": lambda t: t.rand(2, 3),
    "rand([2, 0])": lambda t: t.rand([2, 0]),
    "rand float64": lambda t: t.rand(3, dtype=t.float64, requires_grad=True),
    "rand half": lambda t: t.rand(3, dtype=t.bfloat16),
    "rand complex": lambda t: t.rand(3, dtype=t.complex64),
    "rand int": lambda t: t.rand(3, dtype=t.int64),
    "rand negative": lambda t: t.rand(-1),
    "rand generator": lambda t: t.rand(3, generator=t.Generator()),
    "randn(size=)": lambda t: t.randn(*(2, 3), dtype=t.complex128),
    "randn bool": lambda t: t.randn(2, dtype=t.bool),
    "rand_like": lambda t: t.rand_like(t.zeros(2, 3, dtype=t.float64)),
    "rand_like half": lambda t: t.rand_like(t.zeros(2, dtype=t.int64), dtype=t.float16),
    "rand_like int": lambda t: t.rand_like(t.zeros(2, dtype=t.int64)),
    "randn_like": lambda t: t.randn_like(t.zeros(0, 3)),
    "randint(5, size)": lambda t: t.randint(5, (2, 3)),
    "randint(2, 5, size)": lambda t: t.randint(2, 5, (2, 3)),
    "randint(high=)": lambda t: t.randint(high=5, size=(2,)),
    "randint(low=)": lambda t: t.randint(low=-3, high=5, size=(2,), dtype=t.int8),
    "randint float": lambda t: t.randint(5, (2,), dtype=t.float32),
    "randint bool": lambda t: t.randint(0, 2, (2,), dtype=t.bool),
    "randint empty range": lambda t: t.randint(5, 5, (2,)),
    "randint too wide": lambda t: t.randint(0, 1000, (2,), dtype=t.int8),
    "randint_like": lambda t: t.randint_like(t.zeros(2, 3), 5),
    "randint_like range": lambda t: t.randint_like(t.zeros(2, dtype=t.int32), 2, 5),
    "randperm": lambda t: t.randperm(7),
    "randperm 0": lambda t: t.randperm(0),
    "randperm int32": lambda t: t.randperm(7, dtype=t.int32),
    "randperm float": lambda t: t.randperm(7, dtype=t.float32),
    "randperm -1": lambda t: t.randperm(-1),
    "normal size": lambda t: t.normal(2.0, 3.0, (2, 3)),
    "normal size named": lambda t: t.normal(mean=0.0, std=1.0, size=(2,)),
    "normal tensors": lambda t: t.normal(t.zeros(3), t.ones(3)),
    "normal broadcast": lambda t: t.normal(t.zeros(2, 1), t.ones(3)),
    "normal number, tensor": lambda t: t.normal(2.0, t.ones(3)),
    "normal tensor, number": lambda t: t.normal(t.zeros(3, dtype=t.float64), 2.0),
    "normal tensor": lambda t: t.normal(t.zeros(3)),
    "normal negative": lambda t: t.normal(0.0, -1.0, (2,)),
    "normal numbers": lambda t: t.normal(0.0, 1.0),
    "bernoulli": lambda t: t.bernoulli(t.full((2, 3), 0.5)),
    "bernoulli p": lambda t: t.bernoulli(t.zeros(2, 3), 0.5),
    "bernoulli outside": lambda t: t.bernoulli(t.full((2,), 1.5)),
    "bernoulli int": lambda t: t.bernoulli(t.zeros(2, dtype=t.int64)),
    "method bernoulli": lambda t: t.full((2, 3), 0.5).bernoulli(),
    "multinomial": lambda t: t.multinomial(t.ones(4), 3),
    "multinomial rows": lambda t: t.multinomial(t.ones(2, 4), 3, replacement=True),
    "multinomial many": lambda t: t.multinomial(t.ones(4), 9, True),
    "multinomial too many": lambda t: t.multinomial(t.ones(4), 9),
    "multinomial none": lambda t: t.multinomial(t.ones(4), 0),
    "multinomial negative": lambda t: t.multinomial(t.tensor([1.0, -1.0]), 1),
    "multinomial zeros": lambda t: t.multinomial(t.zeros(3), 1),
    "multinomial inf": lambda t: t.multinomial(t.tensor([1.0, math.inf]), 1),
    "multinomial 3-d": lambda t: t.multinomial(t.ones(2, 2, 2), 1),
    "multinomial int": lambda t: t.multinomial(t.ones(3, dtype=t.int64), 1),
    "multinomial half": lambda t: t.multinomial(t.ones(3, dtype=t.bfloat16), 2),
    "dropout": lambda t: t.dropout(t.ones(3, requires_grad=True), 0.5, True),
    "dropout 2": lambda t: t.dropout(t.ones(3), 2.0, True),
    "dropout eval": lambda t: t.dropout(t.ones(3, dtype=t.float64), 0.5, train=False),
    "dropout_": lambda t: t.dropout_(t.ones(3), 0.5, True),
    "dropout_ leaf": lambda t: t.dropout_(t.ones(3, requires_grad=True), 0.5, True),
    "feature_dropout": lambda t: t.feature_dropout(t.ones(2, 3, 4), 0.5, True),
    "feature_dropout 1-d": lambda t: t.feature_dropout(t.ones(2), 0.5, True),
    "alpha_dropout": lambda t: t.alpha_dropout(t.ones(3).requires_grad_(), 0.5, True),
    "feature_alpha": lambda t: t.feature_alpha_dropout(t.ones(2, 3, 4), 0.5, True),
    "functional dropout": lambda t: t.nn.functional.dropout(t.ones(3), 0.5),
    "dropout2d": lambda t: t.nn.functional.dropout2d(t.ones(2, 3, 4, 4), 0.5),
    "uniform_": lambda t: t.empty(3, dtype=t.float16).uniform_(-1, 1),
    "uniform_ reversed": lambda t: t.empty(3).uniform_(1, -1),
    "uniform_ int": lambda t: t.empty(3, dtype=t.int64).uniform_(),
    "uniform_ leaf": lambda t: t.empty(3, requires_grad=True).uniform_(),
    "uniform_ expanded": lambda t: t.empty(1).expand(3).uniform_(),
    "normal_": lambda t: t.empty(2, 3).normal_(1, 2),
    "normal_ complex": lambda t: t.empty(2, dtype=t.complex64).normal_(),
    "normal_ negative": lambda t: t.empty(2).normal_(0, -1),
    "random_": lambda t: t.empty(3, dtype=t.uint8).random_(),
    "random_(to)": lambda t: t.empty(3).random_(5),
    "random_(from, to)": lambda t: t.empty(3, dtype=t.int32).random_(-5, 5),
    "random_ empty range": lambda t: t.empty(3).random_(5, 5),
    "random_ bool": lambda t: t.empty(3, dtype=t.bool).random_(),
    "bernoulli_": lambda t: t.empty(3, dtype=t.int64).bernoulli_(0.3),
    "bernoulli_ tensor": lambda t: t.empty(2, 3).bernoulli_(t.full((3,), 0.3)),
    "bernoulli_ outside": lambda t: t.empty(3).bernoulli_(1.5),
    "exponential_": lambda t: t.empty(3, dtype=t.float64).exponential_(2.0),
    "exponential_ 0": lambda t: t.empty(3).exponential_(-1.0),
    "exponential_ int": lambda t: t.empty(3, dtype=t.int64).exponential_(),
    "geometric_": lambda t: t.empty(3, dtype=t.int64).geometric_(0.3),
    "geometric_ 1": lambda t: t.empty(3).geometric_(1.5),
    "cauchy_": lambda t: t.empty(3, dtype=t.bfloat16).cauchy_(1, 2),
    "cauchy_ 0": lambda t: t.empty(3).cauchy_(0, 0),
    "log_normal_": lambda t: t.empty(3).log_normal_(0, 0.5),
    "log_normal_ 0": lambda t: t.empty(3).log_normal_(0, 0),
    "get_rng_state": lambda t: t.get_rng_state()[:0],
    "manual_seed": lambda t: t.rand(2, generator=t.Generator().manual_seed(-1)),
    "manual_seed too big": lambda t: t.rand(2, generator=t.manual_seed(2**64)),
    "set_rng_state float": lambda t: t.set_rng_state(t.zeros(3)),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    """What torch accepts is accepted, with its shape and dtype; the rest is refused."""
    assert outcome(FORMS[form], dt) == outcome(FORMS[form], torch)


MOMENTS = {
    "rand": lambda t, n: t.rand(n),
    "randn": lambda t, n: t.randn(n),
    "randn half": lambda t, n: t.randn(n, dtype=t.float16),
    "randn complex": lambda t, n: abs(t.randn(n, dtype=t.complex64)),
    "rand complex": lambda t, n: abs(t.rand(n, dtype=t.complex64)),
    "randint": lambda t, n: t.randint(-3, 9, (n,)).to(t.float32),
    "normal": lambda t, n: t.normal(t.ones(n), t.full((1,), 3.0)),
    "random_ float": lambda t, n: t.empty(n).random_() / 2**24,
    "random_ int64": lambda t, n: t.empty(n, dtype=t.int64).random_() / 2**63,
    "random_ int8": lambda t, n: t.empty(n, dtype=t.int8).random_().to(t.float32),
    "geometric_": lambda t, n: t.empty(n).geometric_(0.3),
    "exponential_": lambda t, n: t.empty(n).exponential_(0.5),
    "log_normal_": lambda t, n: t.empty(n).log_normal_(0.5, 0.4),
    "cauchy_": lambda t, n: t.atan(t.empty(n).cauchy_(1.0, 0.5)),
    "dropout": lambda t, n: t.dropout(t.ones(n), 0.3, True),
    "alpha_dropout": lambda t, n: t.alpha_dropout(t.ones(n), 0.3, True),
    "feature_alpha": lambda t, n: t.feature_alpha_dropout(t.ones(n, 1, 2), 0.3, True),
    "multinomial": lambda t, n: t.multinomial(
        t.tensor([1.0, 0, 3, 2]), n, True
    ).to(t.float32),
}  # fmt: skip


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name: str) -> None:
    """Mean and deviation are those of torch's numbers, to sampling error."""
    n = 40_000
    ours, theirs = (
        np.asarray(MOMENTS[name](t, n).to(t.float64).numpy()) for t in (dt, torch)
    )
    error = theirs.std() / math.sqrt(n)
    assert abs(ours.mean() - theirs.mean()) < 8 * error
    assert abs(ours.std() - theirs.std()) < 0.05 * theirs.std()


def test_gradients_of_dropout() -> None:
    """The gradient is the noise, as in torch."""
    for t in (dt, torch):
        x = t.ones(1000, dtype=t.float64, requires_grad=True)
        y = t.nn.functional.dropout(x * 2, 0.4)
        y.sum().backward()
        assert np.array_equal(x.grad.numpy(), y.detach().numpy())
