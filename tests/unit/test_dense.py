"""Backends without strided arrays: the vocabulary, training, counts, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.support import dense, kit
from tests.support.dense import VARIANTS, grid

import dovetail as dt
from dovetail import nn
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check
from dovetail.device_api import KernelTable, ViewCopies, registry
from dovetail.device_api.dense_kernels import VIEWS, WRITES
from dovetail.engine.op import Op, declared, vocabulary
from dovetail.errors import DovetailError, KernelError, NotSupported

BUDGET = replace(kit.SMALL, dtypes=(dt.float32, dt.int32, dt.bool))


@pytest.fixture(scope="module", autouse=True)
def _devices() -> Iterator[None]:
    with dense.registered(*(variant() for variant in VARIANTS)):
        yield


@pytest.fixture(params=[v.type for v in VARIANTS])
def device(request: pytest.FixtureRequest) -> str:
    """A device whose reshapes share memory, one whose copy, one that never writes."""
    found: str = request.param
    return found


@pytest.fixture
def plain() -> dense.Plain:
    """The first of them."""
    found = registry.load("dense")
    assert isinstance(found, dense.Plain)
    return found


def copies(device: str) -> tuple[int, int]:
    """Gathers and scatters so far."""
    found = registry.load(device).capability(ViewCopies)
    assert found is not None
    return found.view_copies()


@pytest.fixture(scope="module")
def checks() -> dict[str, list[Check]]:
    """What the kit has to prove of results and memory, by op."""
    return kit.planned(Subject("dense"), laws="forward,untouched", budget=BUDGET)


@pytest.mark.parametrize("op", declared(), ids=lambda op: op.name)
def test_laws(op: Op, plain: dense.Plain, checks: dict[str, list[Check]]) -> None:
    """Every op equals its oracle and writes nothing but what it declares to."""
    assert kit.assert_proven(Subject(plain.type), checks[op.name], BUDGET) > 0


def test_tables_agree_with_the_declarations() -> None:
    """What the backend floor knows of writes and views is what core declares."""
    declared_writes = {
        op.name: tuple(op.names.index(n) for n in op.mutates)
        for op in declared() if op.mutates
    }  # fmt: skip
    assert declared_writes == WRITES
    assert {op.name for op in declared() if op.view} == VIEWS - {"native_slice"}
    assert all(op.name.endswith("_") for op in declared() if op.mutates)


def test_negative_strides(plain: dense.Plain) -> None:
    """The joint allows them, though torch's frontend never shows one."""
    x = grid("dense", 4)
    back = plain.view(x._a, (2,), (-2,), 3)
    plain.fill(plain.view(back, (1,), (1,), 0), 9)
    assert plain.copy_out(back).tolist() == [9, 1]


def test_copy_is_of_a_snapshot(device: str) -> None:
    """The joint's copy: overlapping, and without sharing what it copied."""
    backend = registry.load(device)
    x, y = grid(device, 3, 3), dt.zeros(3, 3, device=device)
    backend.copy(y._a, x._a)
    backend.copy(backend.view(x._a, (3, 3), (1, 3), 0), x._a)
    assert x.tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    assert y.tolist() == grid("cpu", 3, 3).tolist()
    y[1] = 0
    backend.copy(y._a, y.t()._a)
    assert y.tolist() == [[0, 0, 6], [1, 0, 7], [2, 0, 8]]
    line = grid(device, 5)._a
    backend.copy(backend.view(line, (4,), (1,), 1), backend.view(line, (4,), (1,), 0))
    assert backend.copy_out(line).tolist() == [0, 0, 1, 2, 3]


def test_kernel_reads_what_it_writes(device: str) -> None:
    """An argument that shares the memory of a written one is read before."""
    add, x = vocabulary["scatter_add_"].function, grid(device, 4)
    add(x, dt.tensor([3, 2, 1, 0], device=device), x, 0)
    assert x.tolist() == [3, 3, 3, 3]
    add(x, dt.tensor([1, 2, 3], device=device), x[:3], 0)
    assert x.tolist() == [3, 6, 6, 6]


def losses(device: str, optimizer: str) -> list[float]:
    """Of a small convolutional network while it learns, its weights made on the CPU."""
    dt.manual_seed(3)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3)
    )
    x, y = dt.randn(8, 1, 6, 6), dt.arange(8) % 3
    model, x, y = model.to(device), x.to(device), y.to(device)
    makers: dict[str, Any] = {
        "sgd": partial(dt.optim.SGD, lr=0.1, momentum=0.9),
        "adam": partial(dt.optim.AdamW, lr=0.01),
    }
    step = makers[optimizer](model.parameters())
    found = []
    for _ in range(8):
        step.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        step.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_network_trains_as_on_cpu(optimizer: str, device: str) -> None:
    """Losses equal the CPU's, nothing runs on the host, and gathers are counted."""
    before, host = copies(device), dt.fallbacks()
    here, there = losses(device, optimizer), losses("cpu", optimizer)
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-5)
    assert dt.fallbacks() == host
    assert copies(device)[0] > before[0]


def test_no_view_no_copy(device: str) -> None:
    """A program without views gathers and scatters nothing."""
    before = copies(device)
    x = grid(device, 3, 4)
    y = (x * 2 + 1).exp().sum() + x.reshape(4, 3).clone().zero_().sum()
    x.copy_(x + y).fill_(2)
    assert y.item() > 0
    assert copies(device) == before


def test_copies_are_counted(plain: dense.Plain) -> None:
    """A view that is read is one gather, one that is written one scatter."""
    x = grid("dense", 3, 4)
    gathers, scatters = plain.gathers, plain.scatters
    assert (x[:, 1] + 1).tolist() == [2, 6, 10]
    assert (plain.gathers, plain.scatters) == (gathers + 1, scatters)
    x[:, 2] = 0
    assert (plain.gathers, plain.scatters) == (gathers + 1, scatters + 1)


def test_places_are_made_once(
    plain: dense.Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The places of a view are remembered, up to a limit."""
    from dovetail.device_api import dense as module

    x = grid("dense", 4, 6)
    monkeypatch.setattr(plain, "_places", type(plain._places)())
    monkeypatch.setattr(plain, "_held", 0)
    for _ in range(3):
        x.t().contiguous()
    assert plain._held == 24
    monkeypatch.setattr(module, "_CACHED_PLACES", 10)
    x[:, 1].clone()
    assert (len(plain._places), plain._held) == (1, 4)
    x.t().contiguous()
    assert plain._held == 4


def test_optimizer_kernel_through_views(plain: dense.Plain) -> None:
    """A kernel that writes two arguments writes both through views, bound or not."""
    from dovetail.xp import optim

    def steps(device: str) -> list[Any]:
        x, b = grid(device, 3, 4), grid(device, 4, 3)
        step, how = vocabulary["sgd_step_"].function, (0.1, 0.9, 0, 0, *[False] * 3)
        for _ in range(2):
            step(x.t(), grid(device, 4, 3), b[:, :], *how)
            step(x[:, 1], x[:, 2], b.t()[0, 1:], *how)
        return [x.tolist(), b.tolist()]

    solid = KernelTable("scratch")
    optim.install(solid, np)
    (kernel,) = solid.select("sgd_step_", dt.float32)
    with plain.table.adding("test"):
        plain.table.add(
            "sgd_step_", plain.bound(kernel.function), dtypes=[dt.float32], binds=True
        )
    try:
        before = plain.scatters
        np.testing.assert_allclose(steps("dense")[0], steps("cpu")[0], rtol=1e-6)
        np.testing.assert_allclose(steps("dense")[1], steps("cpu")[1], rtol=1e-6)
        assert plain.scatters > before
    finally:
        plain.table.remove("test")


def test_devices_stay_apart(plain: dense.Plain) -> None:
    """Views and results live on the device of their memory."""
    x = dt.ones(2, 3, device="dense:1")
    y = x.t()[1:] + dt.arange(2, device="dense:1")
    assert str(y.device) == "dense:1"
    assert y._a.buffer.index == 1
    with pytest.raises(DovetailError, match="dense"):
        x + dt.ones(2, 3, device="dense:0")


def test_what_is_refused(plain: dense.Plain) -> None:
    """View kernels, unexplained writes, places outside, addresses, odd results."""
    table = plain.table
    with pytest.raises(KernelError, match="kernel permute: op is a view"):
        table.add("permute", print, dtypes=[dt.float32])
    with pytest.raises(KernelError, match="writes is not given"):
        table.add("swap_", print, dtypes=[dt.float32])
    x = dt.ones(4, device="dense")
    with pytest.raises(KernelError, match="needed within the 4 elements"):
        plain.view(x._a, (4,), (1,), 1)
    with pytest.raises(NotSupported, match="data_ptr"):
        x.data_ptr()
    with table.adding("test"):
        table.add("exp", lambda a: 1.5, dtypes=[dt.float32], rank=1)
    try:
        with pytest.raises(KernelError, match="is a float, needed a Solid"):
            x.exp()
    finally:
        table.remove("test")


def test_missing_primitive_is_named() -> None:
    """A backend without the kernels that views need says which."""

    class Poor(dense.Plain):
        type = "dense_poor"

        def kernels(self, table: Any) -> None:
            """None at all."""

    with dense.registered(Poor()):
        x = dt.ones(4, device="dense_poor")
        with pytest.raises(KernelError, match=r"without a kernel of take_along for"):
            x[1:].cpu()
