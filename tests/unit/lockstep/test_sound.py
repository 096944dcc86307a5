"""`lockstep` raises no false alarm on sound devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from tests.support.broken import broken
from tests.support.dense import Plain, registered
from tests.support.steps import (
    FLOAT_OPS,
    convolutional,
    half,
    in_place,
    long_sums,
    one_call,
    perceptron,
)

import dovetail as dt
import dovetail.conformance.oracle
from dovetail import nn, optim
from dovetail.conformance import reference
from dovetail.device_api import registry
from dovetail.engine.cases import cases_of
from dovetail.nn import functional as F
from dovetail.testing import lockstep


@pytest.fixture
def _reference() -> Iterator[None]:
    reference.install()
    yield
    registry.unregister("reference")


def attention(device: str) -> Any:
    """A step on an embedding, causal attention, a norm and a gated network."""
    embedding = nn.Embedding(11, 8).to(device)
    block = nn.MultiheadAttention(8, 2, batch_first=True).to(device)
    norm, last = nn.LayerNorm(8).to(device), nn.Linear(8, 11).to(device)
    tokens = dt.randint(0, 11, (2, 6), device=device)
    x = embedding(tokens)
    x = x + block(x, x, x, need_weights=False)[0]
    x = F.gelu(norm(x)) * dt.sigmoid(x[..., :1])
    loss = F.cross_entropy(last(x)[:, :-1].reshape(-1, 11), tokens[:, 1:].reshape(-1))
    loss.backward()
    return loss, [p.grad for p in (*embedding.parameters(), *block.parameters())]


STEPS = (perceptron, convolutional, attention, in_place, half)


@pytest.mark.usefixtures("_reference")
@pytest.mark.parametrize("step", STEPS)
def test_level_zero_alone_agrees(step: Callable[[str], Any]) -> None:
    """Bodies round otherwise than kernels, which is no divergence."""
    report = lockstep(step, "reference", folder=None)
    assert report.ok
    assert report.compared > 10


@pytest.mark.parametrize("step", [perceptron, convolutional, in_place])
def test_a_device_without_float64_agrees(step: Callable[[str], Any]) -> None:
    """Arrays without strides, and fewer dtypes than the reference has."""
    with registered(Plain()):
        assert lockstep(step, "dense", folder=None).ok


def test_missing_dtypes_are_stood_in_for() -> None:
    """A reference without float64 judges a step in float64 by its own float32."""

    def step(device: str) -> Any:
        x = dt.linspace(-1, 1, 30, dtype=dt.float64, device=device)
        return (x * 3).exp().sum()

    with registered(Plain()):
        report = lockstep(step, "cpu", "dense", folder=None, raise_on_divergence=False)
    assert set(report.ops) >= {"mul", "exp", "sum"}
    assert report.ops["exp"].worst > 1e-9
    assert not any(r.beyond for r in report.ops.values())


def test_the_same_device_agrees_to_the_bit() -> None:
    """Every run draws the same random numbers, whatever was drawn before."""
    dt.randn(3)
    before = dt.random.get_rng_state().tolist()
    report = lockstep(perceptron, "cpu", folder=None)
    assert report.drift == 0.0
    assert {record.worst for record in report.ops.values()} == {0.0}
    assert dt.random.get_rng_state().tolist() == before


@pytest.mark.usefixtures("_reference")
def test_an_ill_conditioned_step_is_no_alarm() -> None:
    """AdamW scales a gradient that is rounding alone to a whole step."""

    def step(device: str) -> Any:
        model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh()).to(device)
        made = optim.AdamW(model.parameters(), lr=0.1)
        weight = dt.randn(8, 8, device=device)
        (model(dt.randn(16, 6, device=device)) @ weight).square().mean().backward()
        made.step()
        return model

    assert lockstep(step, "reference", folder=None).ok


@pytest.mark.usefixtures("_reference")
def test_no_op_of_the_vocabulary_raises_an_alarm() -> None:
    """By kernels or by bodies, each op's sample calls are within tolerance."""
    for op in FLOAT_OPS:
        for case in islice(cases_of(op, dt.float32), 2):
            report = lockstep(
                one_call(op, case), "reference", folder=None, raise_on_divergence=False
            )
            assert report.ok, report


def test_sums_in_another_order_are_no_alarm() -> None:
    """Nor is where the optimizer takes the rounding of tiny gradients."""
    with broken("linear", "sequential") as device:
        report = lockstep(long_sums, device, folder=None)
    assert report.ops["linear"].worst > 1e-6
