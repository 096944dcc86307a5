"""The chaos device computes what the device in it does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from tests.support import kit
from tests.support.chaos import DEVICE, Broken, optimizer_of
from tests.support.dense import Plain, registered
from tests.support.turns import has_its_turn

import dovetail as dt
from dovetail import dtypes, nn
from dovetail.conformance.subject import Subject
from dovetail.device_api import HostMemory, KernelTable, registry
from dovetail.errors import (
    BackendError,
    DeviceError,
)
from dovetail.testing import chaos
from dovetail_cpu.backend import CpuBackend

# ---- device strings


def test_device_string_names_the_wrapped_device() -> None:
    """`chaos:acme:1` has the type `chaos:acme` and the index 1, and reads back."""
    wrapped = dt.device("chaos:acme:1")
    assert (wrapped.type, wrapped.index) == ("chaos:acme", 1)
    assert dt.device(str(wrapped)) == wrapped == dt.device("chaos:acme", 1)
    assert dt.device(DEVICE).index is None


@pytest.mark.parametrize("text", [DEVICE, "chaos:cpu:0"])
def test_tensors_are_made_on_it(text: str) -> None:
    """A tensor made there or moved there says so, and comes back."""
    made, moved = dt.tensor([1.0, 2.0], device=text), dt.tensor([1.0, 2.0]).to(text)
    assert str(made.device) == str(moved.device) == "chaos:cpu:0"
    assert (made + moved).device == made.device
    assert (made + moved).cpu().tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("chaos", BackendError, 'name the device behind it, as in "chaos:cpu"'),
        ("chaos:nothing", BackendError, "'nothing', for which no backend is installed"),
        ("chaos:meta", DeviceError, "meta holds no data"),
        ("chaos:cpu:3", DeviceError, "index is chaos:cpu:3"),
        ("chaos:chaos:cpu", DeviceError, "type"),
    ],
)
def test_wrong_device_strings(text: str, error: type[Exception], words: str) -> None:
    """What cannot be wrapped is refused in words."""
    with pytest.raises(error, match=words):
        dt.zeros(1, device=text)


def test_it_is_no_device_of_its_own() -> None:
    """It is never chosen for `auto` nor listed, and hides the host's memory."""
    backend, _ = registry.resolve(DEVICE)
    assert not backend.automatic
    assert all(d.type != DEVICE for d in dt.devices())
    assert backend.capability(HostMemory) is None
    assert backend.dtypes == registry.load("cpu").dtypes


def test_replacing_a_backend_replaces_what_wraps_it() -> None:
    """A backend registered anew is the one behind its chaos device."""
    with registered(Broken()):
        first = registry.load("chaos:broken")
        registry.register(Broken())
        assert registry.load("chaos:broken") is not first


# ---- it computes what the wrapped device computes


def test_vocabulary() -> None:
    """Every op obeys its oracle with poison, guards and reordered work, in a dtype."""
    subject = Subject(DEVICE)
    budget = replace(kit.SMALL, dtypes=(dt.float32, dt.int32, dt.bool))
    with chaos(seed=1) as plan:
        count = sum(
            kit.assert_proven(subject, kit.sampled(checks), budget)
            for checks in kit.planned(subject, laws="forward", budget=budget).values()
        )
    assert count > 100
    assert plan.kernels > count


ORDERS = 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(ORDERS))
def test_vocabulary_in_every_dtype(seed: int) -> None:
    """The same, of a third of the ops in all dtypes, in one of several orders each.

    Another third with each state of the kit's code.
    """
    subject, budget = Subject(DEVICE), replace(kit.QUICK, dtypes=dtypes.ALL)
    count = 0
    with chaos(seed=seed):
        planned = kit.planned(subject, laws="forward", budget=budget)
        for checks in [c for op, c in planned.items() if has_its_turn(op)]:
            own = [c for c in checks if crc32(c.id.encode()) % ORDERS == seed]
            count += len(own)
            kit.assert_proven(subject, own, budget)
    assert count > 200


@pytest.mark.weekly
@pytest.mark.parametrize("seed", range(ORDERS))
def test_vocabulary_in_every_order(seed: int) -> None:
    """The same, each op and dtype in all these orders."""
    subject, budget = Subject(DEVICE), replace(kit.QUICK, dtypes=dtypes.ALL)
    with chaos(seed=seed):
        for checks in kit.planned(subject, laws="forward", budget=budget).values():
            kit.assert_proven(subject, checks, budget)


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.25), nn.Linear(8, 3)
    )


def conv_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(12, 3),
    )  # fmt: skip


def train(make: Callable[[], nn.Module], which: str, device: str) -> list[Any]:
    """Values after three steps: losses, parameters, buffers."""
    dt.manual_seed(0)
    model = make()
    shape = (5, 6) if make is mlp else (5, 1, 6, 6)
    x, t = dt.randn(*shape), dt.tensor([0, 2, 1, 1, 0])
    model, x, t = model.to(device), x.to(device), t.to(device)
    dt.manual_seed(1)  # dropout draws from the device's own generator
    optimizer = optimizer_of(model, which)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), t)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [v.cpu().numpy() for v in (*losses, *model.state_dict().values())]


@pytest.mark.parametrize("make", [mlp, conv_net])
@pytest.mark.parametrize("which", ["sgd", "adamw"])
def test_training_is_the_same_bit_for_bit(make: Any, which: str) -> None:
    """A network trains as on the wrapped device, in whatever order its work is done."""
    want = train(make, which, "cpu")
    for seed in range(4):
        with chaos(seed=seed):
            got = train(make, which, DEVICE)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_wrapped_device_without_strides() -> None:
    """Arrays that are copied for views can be guarded and reordered too."""
    backend = Plain()
    registry.register(backend)
    try:
        want = train(mlp, "adamw", "dense")
        with chaos(seed=1):
            got = train(mlp, "adamw", "chaos:dense")
    finally:
        registry.unregister("dense")
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_work_is_reordered() -> None:
    """Independent work changes places, differently for another seed."""
    orders = set()
    backend = Noisy()
    with registered(backend):
        for seed in range(6):
            with chaos(seed=seed):
                xs = [dt.tensor([float(i)], device="chaos:broken") for i in range(6)]
                dt.synchronize("chaos:broken")
                backend.seen.clear()
                ys = [x.exp() for x in xs]
            assert [y.item() for y in ys] == [np.exp(np.float32(i)) for i in range(6)]
            orders.add(tuple(backend.seen))
        assert len(orders) > 3
        with chaos(reorder=False):
            backend.seen.clear()
            for x in xs:
                x.exp()
            assert backend.seen == [float(i) for i in range(6)]


def test_writes_wait_for_earlier_readers() -> None:
    """What was read before a write has the old values, what is read after the new."""
    for seed in range(20):
        with chaos(seed=seed):
            x = dt.zeros(4, device=DEVICE)
            before = x + 1
            x[1:3].fill_(5.0)
            between = x * 2
            x.copy_(before)
            x.mul_(x)
            assert between.tolist() == [0.0, 10.0, 10.0, 0.0]
            assert x.tolist() == before.tolist() == [1.0] * 4


def test_threads() -> None:
    """Several threads work on one device at once."""
    found: list[Any] = []

    def work(k: int) -> None:
        x = dt.full((16,), float(k), device=DEVICE)
        for _ in range(30):
            x = x + 1
        found.append((k, x.sum().item()))

    with chaos(seed=3):
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert sorted(found) == [(k, 16.0 * (k + 30)) for k in range(4)]


class Noisy(CpuBackend):
    """A device that tells in which order kernels ran."""

    type = "broken"

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[float] = []

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        table.add("exp", self.exp, dtypes=[dt.float32], rank=9)

    def exp(self, a: Any) -> Any:
        self.seen.append(float(a.reshape(-1)[0]))
        return np.exp(a)
