"""Pinned memory, and copies that the host does not wait for, on the chaos device.

That device does what it was given as late as it may, so that what is read or written
too soon is seen.
"""

from __future__ import annotations

import gc
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.data import DataLoader, TensorDataset
from dovetail.device_api import PinnedMemory, registry
from dovetail.errors import ArgumentError, BackendError, NotSupported
from dovetail.testing import chaos

DEVICE = "chaos:cpu"
Pair = namedtuple("Pair", ["x", "y"])


@pytest.fixture
def late() -> Any:
    """The chaos device's memory, while it puts work off."""
    with chaos(reorder=True, seed=3):
        yield registry.load(DEVICE)
        dt.synchronize(DEVICE)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dt.arange(12.0).reshape(3, 4),
        lambda: dt.arange(24).reshape(2, 3, 4).permute(2, 0, 1),
        lambda: dt.arange(12.0)[::3],
        lambda: dt.arange(3.0).expand(4, 3),
        lambda: dt.tensor(2.5),
        lambda: dt.ones(0, 3),
        lambda: dt.tensor([True, False]),
    ],
)
def test_a_pinned_copy_is_as_its_source(late: Any, make: Any) -> None:
    """Values, dtype, and the order in which dims lie."""
    x = make()
    y = x.pin_memory(DEVICE)
    assert y.is_pinned()
    assert y.is_pinned(DEVICE)
    assert not y.is_pinned("fake")
    assert not x.is_pinned()
    assert y[:1].is_pinned() if y.ndim and y.numel() else True
    assert dt.equal(x, y)
    assert y.stride() == dt.clone(x).stride()
    assert y.pin_memory(DEVICE) is y


def test_a_copy_to_the_device_is_late(late: Any) -> None:
    """Who writes the source too soon is seen; after a wait it is free."""
    x = dt.ones(100).pin_memory(DEVICE)
    found = set()
    for _ in range(20):
        y = x.fill_(1).to(DEVICE, non_blocking=True)
        x.fill_(2)
        found.add(y[0].item())
    assert 2 in found
    y = x.fill_(1).to(DEVICE, non_blocking=True)
    dt.synchronize(DEVICE)
    x.fill_(2)
    assert y.tolist() == [1] * 100


@pytest.mark.parametrize(
    "send",
    [
        lambda x: x.to(DEVICE),
        lambda x: x.clone().to(DEVICE, non_blocking=True),
        lambda x: x[::2].to(DEVICE, non_blocking=True),
        lambda x: dt.empty(4, device=DEVICE).copy_(x),
    ],
)
def test_other_copies_wait(late: Any, send: Any) -> None:
    """Without the flag, of pageable memory, and of what lies apart."""
    x = dt.ones(4).pin_memory(DEVICE)
    for _ in range(20):
        y = send(x.fill_(1))
        x.fill_(2)
        assert set(y.tolist()) == {1}


def test_copies_to_the_host_are_late_and_in_order(late: Any) -> None:
    """After a wait, values from before the write that came later."""
    x = dt.arange(6.0).reshape(2, 3).to(DEVICE)
    y = x * 2
    back = y.t().to("cpu", non_blocking=True)
    y.fill_(0)
    dt.synchronize(DEVICE)
    assert back.is_pinned()
    assert back.tolist() == [[0, 6], [2, 8], [4, 10]]


def test_what_the_host_reads_at_once_waits(late: Any) -> None:
    """A cast on the host, another memory format, a write into a tensor."""
    x = dt.arange(16.0).reshape(1, 2, 2, 4).to(DEVICE)
    for _ in range(10):
        y = x + 1
        last = y.to("cpu", non_blocking=True, memory_format=dt.channels_last)
        assert last.flatten()[-1].item() == 16
        into = dt.zeros(1, 2, 2, 4).copy_(y, non_blocking=True)
        assert into[0, 0, 0, 0].item() == 1


def test_flags_stand_in_each_place(late: Any) -> None:
    """By position, behind a dtype, in `copy_` and in `Module.to`."""
    x = dt.ones(3).pin_memory(DEVICE)
    assert x.to(DEVICE, dt.float32, True).tolist() == [1] * 3
    assert x.to(DEVICE, dt.float64, True).dtype is dt.float64
    assert dt.empty(3, device=DEVICE).copy_(x, non_blocking=True).tolist() == [1] * 3
    layer = dt.nn.Linear(2, 2).to(DEVICE, non_blocking=True)
    assert layer.weight.device.type == DEVICE


def test_gradients_find_their_way(late: Any) -> None:
    """Through the pinned copy, and through copies that nobody waits for."""
    w = dt.ones(3, requires_grad=True)
    (w.pin_memory(DEVICE).to(DEVICE, non_blocking=True) * 3).sum().backward()
    dt.synchronize(DEVICE)
    assert w.grad is not None
    assert w.grad.tolist() == [3] * 3


def test_memory_is_freed(late: Any) -> None:
    """With the last tensor that looks into it, and behind the last copy."""
    memory: PinnedMemory = late
    gc.collect()
    dt.synchronize(DEVICE)
    before = memory.pinned_bytes()
    x = dt.ones(100).pin_memory(DEVICE)
    part = x[:2]
    y = x.to(DEVICE, non_blocking=True)
    del x
    assert memory.pinned_bytes() == before + 400
    dt.synchronize(DEVICE)
    del part
    gc.collect()
    assert memory.pinned_bytes() == before
    assert y.sum().item() == 100


def test_refusals(late: Any) -> None:
    """Without an accelerator, for devices without pinned memory, for their tensors."""
    x = dt.ones(2)
    with pytest.raises(NotSupported, match="device is cpu, needed an accelerator"):
        x.pin_memory("cpu")
    with pytest.raises(NotSupported, match="device is fake:0"):
        x.pin_memory("fake")
    for ask in (x.pin_memory, x.is_pinned):
        with pytest.raises(BackendError, match="no backend is installed"):
            ask("nonsense")
    with pytest.raises(ArgumentError, match=f"on {DEVICE}:0, needed a dense tensor"):
        x.to(DEVICE).pin_memory(DEVICE)


def test_tensors_are_made_pinned(late: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the keyword of functions that make them, for the accelerator."""
    found = registry.resolve(DEVICE)
    monkeypatch.setattr(registry, "_automatic", lambda: found)
    for x in (
        dt.zeros(3, pin_memory=True), dt.tensor([1.0], pin_memory=True),
        dt.rand(2, pin_memory=True, requires_grad=True),
    ):  # fmt: skip
        assert x.is_pinned()
        assert x.is_leaf
    assert not dt.zeros(3, pin_memory=False).is_pinned()


def test_a_loader_pins_its_batches(late: Any) -> None:
    """Tensors in whatever holds them; the rest stays as it is."""
    rows = TensorDataset(dt.arange(6.0), dt.arange(6))
    loader = DataLoader(rows, 3, pin_memory=True, pin_memory_device=DEVICE)
    for x, y in loader:
        assert x.is_pinned(DEVICE)
        assert y.is_pinned(DEVICE)
    odd = [{"a": dt.ones(2), "b": Pair("text", [dt.ones(1)]), "c": 3, "d": None}]
    loader = DataLoader(
        odd, None, pin_memory=True, pin_memory_device=DEVICE, collate_fn=lambda x: x
    )
    (batch,) = loader
    assert batch["a"].is_pinned()
    assert type(batch["b"]) is Pair
    assert batch["b"].x == "text"
    assert batch["b"].y[0].is_pinned()
    assert (batch["c"], batch["d"]) == (3, None)


def test_a_loader_without_an_accelerator_says_so() -> None:
    """Batches are what they are without the option."""
    loader = DataLoader([1, 2], 2, pin_memory=True, pin_memory_device="cpu")
    with pytest.warns(UserWarning, match="no accelerator with pinned memory"):
        (batch,) = loader
    assert batch.tolist() == [1, 2]


def test_numpy_sees_the_memory(late: Any) -> None:
    """It is an array as others."""
    x = dt.arange(4.0).pin_memory(DEVICE)
    x.numpy()[0] = 7
    assert x.tolist() == [7, 1, 2, 3]
    assert np.asarray(x).base is not None
