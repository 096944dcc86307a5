"""Four backends in one process: values go everywhere, and each trains as the others."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.accelerators.emulated_machine import EmulatedMachine
from tests.support import kit
from tests.support.emulator import COMPILER

import dovetail as dt
from dovetail import nn, optim
from dovetail.device_api import KernelTable, registry
from dovetail.device_api.discovery import entry_of
from dovetail.nn import functional as F
from dovetail_cupy import generated, shared_kernels
from dovetail_strict.backend import StrictBackend
from dovetail_strict.library import Library

pytestmark = pytest.mark.skipif(not COMPILER, reason="there is no C++ compiler")


class Emulating(StrictBackend):
    """CuPy's kernels under its rules, the generated ones on an emulated device."""

    type = "emulating"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.machine = EmulatedMachine(folder, 32)

    def kernels(self, table: KernelTable) -> None:
        shared = KernelTable(self.type)
        shared_kernels.install(shared, Library())
        generated.install(table, shared, self.machine)


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Their names; nothing runs on the host that was not asked to."""
    own: list[str] = []
    backends: list[Any] = [Emulating(tmp_path_factory.mktemp("kernels"))]
    if entry_of("strict") is None:
        backends.append(StrictBackend())
    there = {b.type for b in registry.loaded()}
    for backend in backends:
        if backend.type not in there:
            registry.register(backend)
            own.append(backend.type)
    found = ["cpu", "fake:1", "strict", "emulating"]
    if find_spec("dpctl") is not None and find_spec("dovetail_xpu") is not None:
        os.environ.setdefault("DOVETAIL_XPU_ALLOW_CPU", "1")
        found.append("xpu")
    with kit.no_host():
        yield found
    for name in own:
        registry.unregister(name)


NUMBERS = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)
INPUTS = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
TARGETS = np.arange(8) % 3


def test_values_go_from_each_to_each(devices: list[str]) -> None:
    """A transposed view arrives with its values, and is no memory of the other's."""
    for start, end in permutations(devices, 2):
        there = dt.tensor(NUMBERS, device=start).t()
        moved = there.to(end)
        there.zero_()
        assert moved.device == dt.tensor(0, device=end).device
        assert np.array_equal(moved.cpu().numpy(), NUMBERS.T), (start, end)


def test_no_call_mixes_two(devices: list[str]) -> None:
    """The error names both devices."""
    for start, end in permutations(devices, 2):
        one, two = (dt.tensor(NUMBERS, device=d) for d in (start, end))
        with pytest.raises(RuntimeError, match=start) as error:
            one + two
        assert end in str(error.value)


def test_what_one_saves_another_loads(devices: list[str]) -> None:
    """By `map_location`, whichever wrote the file."""
    for start, end in permutations(devices, 2):
        file = io.BytesIO()
        dt.save({"x": dt.tensor(NUMBERS, device=start)[1:]}, file)
        file.seek(0)
        found = dt.load(file, map_location=end)["x"]
        assert found.device == dt.tensor(0, device=end).device
        assert np.array_equal(found.cpu().numpy(), NUMBERS[1:]), (start, end)


def test_all_draw_the_same(devices: list[str]) -> None:
    """From one seed, uniforms have one pattern of bits."""
    drawn = []
    for device in devices:
        dt.manual_seed(7)
        drawn.append(dt.rand(33, device=device).cpu().numpy().tobytes())
    assert len(set(drawn)) == 1


def trained(device: str) -> list[float]:
    """The losses of some steps."""
    dt.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 3)).to(device)
    made = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = dt.tensor(INPUTS, device=device), dt.tensor(TARGETS, device=device)
    losses = []
    for _ in range(20):
        made.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        made.step()
        losses.append(loss.item())
    return losses


def test_each_trains_as_the_cpu_does(devices: list[str]) -> None:
    """Over 20 steps, losses differ by less than 1e-4."""
    losses = {device: trained(device) for device in devices}
    assert losses["cpu"][-1] < losses["cpu"][0] / 2
    for device in devices[1:]:
        assert np.allclose(losses[device], losses["cpu"], atol=1e-4), device
