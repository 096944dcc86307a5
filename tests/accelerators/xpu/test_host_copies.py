"""Memory of SYCL devices: its limit, pinned memory, and copies among devices."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.data import DataLoader, TensorDataset
from dovetail.tensor_api.streams import Stream, current_stream, stream

pytestmark = pytest.mark.usefixtures("xpu")
SIZE = 1 << 16


@pytest.fixture
def limited(xpu: Any) -> Any:
    """Room for so many bytes more, and no collector that runs by itself."""
    gc.collect()
    gc.disable()
    xpu.set_limit(0, xpu.live_bytes(0) + 10 * SIZE)
    yield xpu
    xpu.set_limit(0, None)
    gc.enable()


def test_at_the_limit_garbage_is_collected(limited: Any) -> None:
    """What only a cycle holds makes room for what is asked for."""
    cycle: list[Any] = [dt.ones(2 * SIZE, device="xpu")]
    cycle.append(cycle)
    before = limited.counts(0)["num_alloc_retries"]
    del cycle
    made = dt.ones(2 * SIZE, device="xpu")
    assert made.sum().item() == 2 * SIZE
    assert limited.counts(0)["num_alloc_retries"] == before + 1


def test_beyond_the_limit_the_pool_is_emptied_first(limited: Any) -> None:
    """The error says what is in use and what to do; then all goes on."""
    held = dt.ones(SIZE, device="xpu")
    dt.ones(SIZE, device="xpu")  # whose memory is kept for the next
    before = limited.counts(0)
    with pytest.raises(MemoryError, match=r"bytes more, with .*raise the limit"):
        dt.ones(3 * SIZE, device="xpu")
    after = limited.counts(0)
    assert after["num_ooms"] == before["num_ooms"] + 1
    assert after["reserved_bytes.all.current"] < before["reserved_bytes.all.current"]
    assert (held + 1).sum().item() == 2 * SIZE


def test_copies_that_nobody_waits_for(xpu: Any) -> None:
    """There and back, in order with work, on a stream of its own; memory comes back."""
    dt.synchronize("xpu")
    before = xpu.pinned_bytes()
    values = np.random.default_rng(0).normal(size=(512, 300)).astype(np.float32)
    source = dt.from_numpy(values).pin_memory("xpu")
    usual, other = current_stream("xpu"), Stream("xpu")
    for _ in range(20):
        with stream(other):
            there = source.to("xpu", non_blocking=True)
            doubled = there * 2
        usual.wait_stream(other)
        doubled.record_stream(usual)
        back = (doubled + 1).t().to("cpu", non_blocking=True)
        del there, doubled
        usual.record_event().synchronize()
        assert np.array_equal(back.numpy(), values.T * 2 + 1)
    del source, back
    dt.synchronize("xpu")
    assert xpu.pinned_bytes() == before


def test_pinned_memory_is_used_again(xpu: Any) -> None:
    """What dies serves the next; `release` gives it to the driver."""
    free = xpu.hosts[0]._free
    dt.accelerator.empty_cache("xpu")
    first = dt.ones(SIZE).pin_memory("xpu").data_ptr()
    assert [len(kept) for kept in free.values()] == [1]
    held = dt.zeros(SIZE).pin_memory("xpu")
    assert held.data_ptr() == first
    assert [len(kept) for kept in free.values()] == [0]
    del held
    dt.accelerator.empty_cache("xpu")
    assert not free


def test_copies_among_devices_are_in_order(xpu: Any) -> None:
    """Each gets what was there when it was sent."""
    for step in range(20):
        y = dt.full((SIZE,), float(step), device="xpu:0") * 2
        z = y.to("xpu:1")
        y.zero_()
        assert (z + 1).amax().item() == 2 * step + 1
        assert z.t().to("xpu:0").amin().item() == 2 * step


def test_a_loader_of_the_accelerator(xpu: Any) -> None:
    """Batches arrive on the device."""
    rows = TensorDataset(dt.arange(64.0))
    loader = DataLoader(rows, 16, pin_memory=True, pin_memory_device="xpu")
    sent = [x.to("xpu", non_blocking=True) for (x,) in loader]
    assert dt.cat(sent).tolist() == list(range(64))
