"""A third party's device in step with the CPU, and the CPU with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dovetail as dt
from dovetail import nn, optim
from dovetail.nn import functional as F
from dovetail.testing import lockstep


@pytest.fixture(autouse=True)
def _no_host() -> Iterator[None]:
    """An op that would run on the host raises."""
    policy = dt.get_fallback_policy()
    dt.set_fallback_policy("error")
    yield
    dt.set_fallback_policy(policy)


def perceptron(device: str) -> Any:
    model = nn.Sequential(nn.Linear(6, 9), nn.GELU(), nn.Dropout(0.2), nn.Linear(9, 3))
    made = optim.AdamW(model.to(device).parameters())
    x = dt.randn(5, 6, device=device)
    F.cross_entropy(model(x), dt.randint(0, 3, (5,), device=device)).backward()
    made.step()
    return model


def convolutional(device: str) -> Any:
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)
    ).to(device)
    made = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(dt.randn(3, 1, 6, 6, device=device)).square().mean().backward()
    made.step()
    return model


def attention(device: str) -> Any:
    words = nn.Embedding(7, 8).to(device)
    block = nn.MultiheadAttention(8, 2, batch_first=True).to(device)
    x = words(dt.randint(0, 7, (2, 5), device=device))
    (x + block(x, x, x, need_weights=False)[0]).square().mean().backward()
    return [p.grad for p in (*words.parameters(), *block.parameters())]


@pytest.mark.parametrize("step", [perceptron, convolutional, attention])
@pytest.mark.parametrize("devices", [("fake:1", "cpu"), ("cpu", "fake")])
def test_in_step(step: Any, devices: tuple[str, str]) -> None:
    """Neither order of the devices raises a false alarm, int64 missing or not."""
    report = lockstep(step, *devices, folder=None)
    assert report.ok
    assert not report.uncompared
