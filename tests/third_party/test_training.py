"""The same networks train on a third party's device to the same losses."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import dovetail as dt
from dovetail import nn
from dovetail.device_api import Pool, registry
from dovetail.nn import functional as F

DEVICES = ("fake", "fake:1")
STEPS = 8


@pytest.fixture(autouse=True)
def _no_host() -> Iterator[None]:
    """An op that would run on the host raises."""
    policy = dt.get_fallback_policy()
    dt.set_fallback_policy("error")
    dt.reset_fallbacks()
    yield
    assert dt.fallbacks() == {}
    dt.set_fallback_policy(policy)


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))


def convolutional() -> nn.Module:
    """Without biases ahead of the norms, which cancel them.

    Their gradient would be rounding errors, which AdamW scales up to whole steps.
    """
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, stride=2, bias=False), nn.BatchNorm2d(8),
        nn.ReLU(), nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip


def with_dropout() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Dropout(0.4), nn.Linear(32, 4))


def normed() -> nn.Module:
    return nn.Sequential(
        nn.Linear(6, 12), nn.LayerNorm(12), nn.GELU(), nn.Linear(12, 4), nn.Softplus()
    )


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "perceptron": (perceptron, (10, 6)),
    "convolutional": (convolutional, (6, 1, 8, 8)),
    "dropout": (with_dropout, (10, 6)),
    "normed": (normed, (10, 6)),
}
OPTIMIZERS: dict[str, Callable[[nn.Module], dt.optim.Optimizer]] = {
    "SGD": lambda net: dt.optim.SGD(
        net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3
    ),
    "AdamW": lambda net: dt.optim.AdamW(net.parameters(), lr=0.01),
}


def batch(shape: tuple[int, ...], step: int) -> tuple[dt.Tensor, dt.Tensor]:
    """Made-up samples and their classes, on the CPU."""
    rng = np.random.default_rng(step)
    x = rng.standard_normal(shape).astype(np.float32)
    return dt.tensor(x), dt.tensor(rng.integers(0, 4, shape[0]))


def train(
    name: str, optimizer: str, device: str, state: dict[str, dt.Tensor]
) -> list[float]:
    """Losses of a network that starts from `state`, and that of evaluation."""
    make, shape = NETWORKS[name]
    net = make().to(device)
    net.load_state_dict({k: v.to(device) for k, v in state.items()})
    steps = OPTIMIZERS[optimizer](net)
    dt.manual_seed(7)
    losses = []
    for step in range(STEPS):
        x, y = (v.to(device) for v in batch(shape, step))
        steps.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        steps.step()
        losses.append(loss.item())
        assert str(loss.device) == str(dt.zeros(1, device=device).device)
    net.eval()
    with dt.no_grad():
        x, y = (v.to(device) for v in batch(shape, 99))
        losses.append(F.cross_entropy(net(x), y).item())
    return losses


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_same_losses(name: str, optimizer: str) -> None:
    """From the same parameters, every loss is that of the CPU within 1e-5."""
    dt.manual_seed(3)
    state = NETWORKS[name][0]().state_dict()
    here = train(name, optimizer, "cpu", state)
    assert here[0] != here[-1]
    for device in DEVICES:
        assert train(name, optimizer, device, state) == pytest.approx(here, abs=1e-5)


def test_memory_returns() -> None:
    """After training, no byte is left on the device, and none went to the other."""
    pool = registry.load("fake").capability(Pool)
    assert pool is not None
    dt.manual_seed(3)
    state = convolutional().state_dict()
    train("convolutional", "AdamW", "fake:1", state)  # fills caches of numbers
    gc.collect()
    before = pool.live_bytes(0), pool.live_bytes(1)
    train("convolutional", "AdamW", "fake:1", state)
    without_collector = pool.live_bytes(0), pool.live_bytes(1)
    gc.collect()
    assert (pool.live_bytes(0), pool.live_bytes(1)) == before
    # Reference counts alone free tensors: tape and engine make no cycles.
    assert without_collector[1] - before[1] < pool.peak_bytes(1) / 2
    assert pool.peak_bytes(1) > before[1]


def test_state_moves_between_devices() -> None:
    """A state saved from one device is loaded on another, with the same outputs."""
    dt.manual_seed(0)
    there = convolutional().to("fake")
    here = convolutional()
    here.load_state_dict(there.state_dict())
    x, _ = batch((6, 1, 8, 8), 0)
    there.eval(), here.eval()
    np.testing.assert_allclose(
        there(x.to("fake")).detach().cpu().numpy(), here(x).detach().numpy(), atol=1e-5
    )


def test_gradients_of_raw_ops() -> None:
    """Without any module: two layers by hand, with views and in-place updates."""

    def losses(device: str) -> list[float]:
        rng = np.random.default_rng(5)
        w = [
            dt.tensor(rng.standard_normal(s).astype(np.float32) / 3, device=device)
            for s in ((5, 8), (8,), (8, 1))
        ]
        for p in w:
            p.requires_grad_()
        x = dt.tensor(rng.standard_normal((12, 5)).astype(np.float32), device=device)
        found = []
        for _ in range(10):
            hidden = (x @ w[0]).relu() + w[1]
            hidden[:, 0] = hidden[:, 1] * 0.5
            loss = ((hidden @ w[2]).squeeze(1) - x[:, 2].sin()).square().mean()
            loss.backward()
            with dt.no_grad():
                for p in w:
                    p.sub_(0.1 * p.grad)
                    p.grad = None
            found.append(loss.item())
        return found

    here = losses("cpu")
    assert here[-1] < here[0]
    assert losses("fake:1") == pytest.approx(here, abs=1e-5)
