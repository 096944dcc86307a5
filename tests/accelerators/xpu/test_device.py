"""Tensors on a SYCL device: memory, layouts, streams, two devices, training."""

from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import nn
from dovetail.tensor_api.streams import Stream, current_stream, stream

pytestmark = pytest.mark.usefixtures("xpu", "no_fallback")


@pytest.fixture
def no_fallback() -> Any:
    """What would run on the host is an error."""
    before = dt.get_fallback_policy()
    dt.set_fallback_policy("error")
    yield
    dt.set_fallback_policy(before)


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    """Some numbers, always the same."""
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (300,), (5, 7, 2)])
def test_arrays_go_there_and_back(shape: Any) -> None:
    """Every element arrives, and comes back."""
    x = numbers(*shape)
    there = dt.tensor(x, device="xpu")
    assert there.device.type == "xpu"
    assert np.array_equal(there.cpu().numpy(), x)


def test_operands_lie_in_any_way() -> None:
    """Views that are transposed, strided and repeated, in up to five dims."""
    x = numbers(4, 3, 2, 5, 3)
    there = dt.tensor(x, device="xpu")
    turned = there.permute(4, 2, 0, 3, 1)[:, :, ::2]
    found = turned * there[0, :, 0, 0, 0] + turned
    expected = x.transpose(4, 2, 0, 3, 1)[:, :, ::2]
    assert np.allclose(found.cpu().numpy(), expected * x[0, :, 0, 0, 0] + expected)


@pytest.mark.parametrize("count", [1, 31, 32, 1000, 100_000])
def test_sums_are_right_in_one_stage_and_in_two(count: int) -> None:
    """However many threads a sum has."""
    x = numbers(count)
    total = dt.tensor(x, device="xpu").sum().item()
    assert total == pytest.approx(float(x.sum(dtype=np.float64)), rel=1e-5, abs=1e-3)


def test_repeated_indices_add_up() -> None:
    """Threads that add to the same element wait for each other, in each format."""
    places = np.arange(10_000) % 7
    for dtype in (dt.float32, dt.float64, dt.int32, dt.int64, dt.uint8, dt.float16):
        y = dt.zeros(7, dtype=dtype, device="xpu")
        ones = dt.ones(700, dtype=dtype, device="xpu")
        y.index_add_(0, dt.tensor(places[:700], device="xpu"), ones)
        assert y.tolist() == [100] * 7, dtype


def test_memory_is_counted_and_used_again(xpu: Any) -> None:
    """What dies is free, and the next array of its size takes no memory."""
    before = xpu.live_bytes(0)
    x = dt.ones(1000, device="xpu")
    assert xpu.live_bytes(0) == before + 4000
    del x
    reserved = xpu.counts(0)["reserved_bytes.all.current"]
    y = dt.ones(1000, device="xpu")
    assert xpu.counts(0)["reserved_bytes.all.current"] == reserved
    del y
    assert xpu.live_bytes(0) == before


def test_beyond_the_limit_there_is_no_memory(xpu: Any) -> None:
    """The error is a MemoryError, and arrays that were there are as they were."""
    x = dt.ones(10, device="xpu")
    xpu.set_limit(0, xpu.live_bytes(0) + 1000)
    try:
        with pytest.raises(MemoryError, match="bytes more"):
            dt.ones(1000, device="xpu")
    finally:
        xpu.set_limit(0, None)
    assert x.sum().item() == 10


def test_two_devices_have_memory_of_their_own() -> None:
    """A copy to the other device is one."""
    x = dt.arange(5, device="xpu:0")
    y = x.to("xpu:1")
    x.add_(1)
    assert (y.device.index, y.tolist()) == (1, [0, 1, 2, 3, 4])
    with pytest.raises(RuntimeError, match="xpu:1"):
        x + y


def test_a_stream_waits_for_what_it_is_told_to() -> None:
    """Handed over by an event, every time."""
    there = numbers(1 << 14)
    for _ in range(20):
        x = dt.tensor(there, device="xpu")
        usual, other = current_stream("xpu"), Stream("xpu")
        other.wait_stream(usual)
        with stream(other):
            y = x * 2.0
        usual.wait_stream(other)
        assert np.array_equal((y + x).cpu().numpy(), there * 2 + there)


def test_a_new_stream_waits_for_numbers_that_are_there() -> None:
    """A number whose memory the only stream has yet to fill is right on the next."""
    there = dt.tensor(numbers(1 << 20), device="xpu")
    x = dt.ones(3, device="xpu")
    for step in range(10):
        number = 1.5 + step
        for _ in range(8):
            there = there * 1.0
        y = x * number  # fills the number behind that
        with stream(Stream("xpu")):
            z = dt.ones(3, device="xpu") * number
            assert z.tolist() == [number] * 3
        assert y.tolist() == [number] * 3


def test_a_network_trains() -> None:
    """Exclusive or, by a network of two layers and AdamW."""
    dt.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1)).to("xpu")
    optimizer = dt.optim.AdamW(model.parameters(), lr=0.05)
    x = dt.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], device="xpu")
    y = dt.tensor([[0.0], [1.0], [1.0], [0.0]], device="xpu")
    for _ in range(150):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05


INDICES: list[Any] = [
    0, -1, slice(1, 3), (slice(None), 2), (..., -2), (1, ..., slice(None, None, 2)),
    (None, slice(3, 1)), (slice(-2, None), None, 0, slice(1, None, 3)), (0, 1, 2), ...,
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_views_lie_as_on_the_cpu(index: Any) -> None:
    """Integers, slices and new dims name the same elements of the same memory."""
    x = dt.tensor(numbers(3, 4, 5))
    there = x.to("xpu")
    found, want = there[1:][index], x[1:][index]
    assert found.shape == want.shape
    assert np.array_equal(found.cpu().numpy(), want.numpy())
    found.zero_()
    want.zero_()
    assert np.array_equal(there.cpu().numpy(), x.numpy())


@pytest.mark.parametrize("index", [3, (0, 4), (0, 0, 0, 0), slice(None, None, -1)])
def test_views_that_are_none_are_refused(index: Any) -> None:
    """As on the CPU: a place out of range, too many of them, a step backwards."""
    there = dt.zeros(3, 4, 5, device="xpu")
    with pytest.raises((IndexError, ValueError)):
        there[index]
