"""A card, for whoever has one: `DOVETAIL_GPU=cuda:0 python -m pytest -m gpu`.

What the conformance kit does not ask of a device: threads, streams, memory, other
libraries, a forked child, training beside the CPU.
"""

from __future__ import annotations

import gc
import os
import threading
from typing import Any

import numpy as np
import pytest
from tests.third_party.test_lockstep_on_fake import (
    attention,
    convolutional,
    perceptron,
)

import dovetail as dt
from dovetail.device_api import Pool, registry
from dovetail.errors import OutOfMemory
from dovetail.testing import lockstep

DEVICE = os.environ.get("DOVETAIL_GPU", "")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not DEVICE, reason="DOVETAIL_GPU names no device"),
]


def test_threads() -> None:
    """Threads compute at the same time, each what it would alone."""
    a = dt.arange(1000, dtype=dt.float32, device=DEVICE)
    found = [0.0] * 8

    def work(i: int) -> None:
        for _ in range(50):
            found[i] = float((a * i).sum())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [499500.0 * i for i in range(len(found))]


def test_streams_hand_over() -> None:
    """Work that waits for another stream's sees what that made, every time."""
    stream, default = dt.Stream(DEVICE), dt.current_stream(DEVICE)
    a = dt.zeros(1 << 16, device=DEVICE)
    for _ in range(100):
        stream.wait_stream(default)
        with stream:
            b = a + 1
        default.wait_stream(stream)
        a = b * 1
    assert a.min().item() == a.max().item() == 100.0


def test_memory_is_given_back() -> None:
    """What is in use goes up with tensors and down without them."""
    backend, index = registry.resolve(DEVICE)
    pool = backend.capability(Pool)
    assert pool is not None
    gc.collect()
    before = pool.live_bytes(index)
    a = dt.empty(1 << 20, device=DEVICE)
    assert pool.live_bytes(index) >= before + a.numel() * 4
    del a
    assert pool.live_bytes(index) == before


def test_exhausted_memory() -> None:
    """More than there is is an OutOfMemory, after which the device goes on."""
    with pytest.raises(OutOfMemory):
        dt.empty(1 << 48, dtype=dt.uint8, device=DEVICE)
    assert dt.ones(3, device=DEVICE).sum().item() == 3.0


def test_cupy_shares_memory() -> None:
    """CuPy reads and writes a tensor's memory through DLPack."""
    cupy = pytest.importorskip("cupy")
    a = dt.arange(6, dtype=dt.float32, device=DEVICE)
    shared = cupy.from_dlpack(a)
    shared += 1
    assert a.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert dt.from_dlpack(shared).device == a.device


def test_a_graph_of_products_and_generated_kernels() -> None:
    """What was recorded runs on new values, after the kernels that did it are gone."""
    a = dt.eye(32, device=DEVICE)
    stream, graph = dt.Stream(DEVICE), dt.accelerator.Graph()
    dt.synchronize(DEVICE)  # it has been written when the stream reads it
    with stream:
        a @ a * 3 + 1  # compiled before it is recorded
    dt.synchronize(DEVICE)
    with stream, graph:
        y = a @ a * 3 + 1
    gc.collect()
    a.fill_(1.0)
    graph.replay()
    dt.synchronize(DEVICE)
    assert y.min().item() == y.max().item() == 97.0


@pytest.mark.parametrize("dtype", [dt.float32, dt.bfloat16], ids=str)
def test_products_of_views(dtype: dt.dtype) -> None:
    """Transposed, strided and broadcast operands, by whole numbers: to the last bit."""
    if dtype not in registry.resolve(DEVICE)[0].dtypes:
        pytest.skip(f"{DEVICE} has no {dtype}")
    a = dt.arange(24, device=DEVICE).reshape(2, 3, 4).remainder(5).to(dtype)
    for left, right in ((a.mT, a), (a[:, ::2], a.mT), (a[:1], a.mT), (a, a[0].t())):
        want = left.cpu().float() @ right.cpu().float()
        assert dt.equal((left @ right).cpu().float(), want)


def test_forked_child() -> None:
    """A forked child that uses the device is told to spawn."""
    a = dt.ones(2, device=DEVICE)
    child = os.fork()
    if not child:
        try:
            a + a
        except RuntimeError as error:
            os._exit(7 if "spawn" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_every_transfer() -> None:
    """Values survive the way to every other device and back."""
    a = dt.randn(5, 7, device=DEVICE)
    for kind, index in registry.available():
        there = a.to(f"{kind}:{index}")
        assert np.array_equal(there.to(DEVICE).cpu().numpy(), a.cpu().numpy())


@pytest.mark.parametrize("step", [perceptron, convolutional, attention])
def test_in_step(step: Any) -> None:
    """Each op of a training step is as near to the CPU's as its rounding allows."""
    report = lockstep(step, DEVICE, "cpu", folder=None)
    assert report.ok, report
    assert not report.uncompared
