"""Copies of CuPy devices that nobody waits for, on a library that stands in for it.

It does what streams are given when somebody waits, and writes down who waited for whom.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dovetail.device_api.host_copies import pinned_array
from dovetail.dtypes import float32
from dovetail_cupy.host_copies import CupyCopies


class Event:
    """A place in a stream."""

    def __init__(self, stream: Stream) -> None:
        self.stream, self.place = stream, len(stream.jobs)

    @property
    def done(self) -> bool:
        return self.stream.ran >= self.place


class Stream:
    """Work that is done when somebody waits."""

    def __init__(self) -> None:
        self.jobs: list[Callable[[], Any]] = []
        self.ran = 0

    def record(self) -> Event:
        return Event(self)

    def wait_event(self, event: Event) -> None:
        self.jobs.append(lambda: event.stream.run(event.place))

    def run(self, place: int | None = None) -> None:
        while self.ran < (len(self.jobs) if place is None else place):
            self.ran += 1
            self.jobs[self.ran - 1]()


class Data:
    """The memory of an array on a device, with CuPy's copies."""

    def __init__(self, address: int) -> None:
        self.ptr = address

    def copy_from_host_async(self, address: int, size: int, stream: Stream) -> None:
        stream.jobs.append(lambda: ctypes.memmove(self.ptr, address, size))

    def copy_to_host_async(self, address: int, size: int, stream: Stream) -> None:
        stream.jobs.append(lambda: ctypes.memmove(address, self.ptr, size))

    def copy_from_device_async(self, source: Data, size: int, stream: Stream) -> None:
        stream.jobs.append(lambda: ctypes.memmove(self.ptr, source.ptr, size))


class Array:
    """An array on a device."""

    def __init__(self, values: Any, index: int) -> None:
        self.values = values
        self.data = Data(values.ctypes.data)
        self.device = SimpleNamespace(id=index)
        self.shape, self.dtype, self.size = values.shape, values.dtype, values.size
        self.nbytes, self.flags = values.nbytes, values.flags


class PinnedPool:
    """Gives out the same memory again as soon as nobody has it."""

    def __init__(self) -> None:
        self.free: list[Any] = []

    def malloc(self, size: int) -> Any:
        memory = self.free.pop() if self.free else bytearray(1 << 12)
        pool = self.free

        class Pointer:
            ptr = np.frombuffer(memory, np.uint8).ctypes.data

            def __del__(self) -> None:
                pool.append(memory)

        return Pointer()


class Device(CupyCopies):
    """Two devices with a stream each."""

    type = "cuda"

    def __init__(self) -> None:
        self.streams = [SimpleNamespace(stream=Stream()) for _ in range(2)]
        self.xp = SimpleNamespace(cuda=SimpleNamespace(PinnedMemoryPool=PinnedPool))
        self.current_stream = self.streams.__getitem__
        self.on = lambda index: nullcontext()
        self._starts()
        for name in ("empty", "ascontiguousarray"):
            setattr(self.xp, name, getattr(np, name))

    def inside(self, index: int, function: Any, first: Any, *more: Any) -> Array:  # type: ignore[override]
        """What NumPy makes, as an array on a device."""
        return Array(function(getattr(first, "values", first), *more), index)


@pytest.fixture
def device() -> Device:
    """Devices where nothing is done yet."""
    return Device()


def pinned(device: Device, value: float) -> Any:
    """Four numbers in pinned memory."""
    host = pinned_array(device, (4,), float32, 0)
    host[...] = value
    return host


def test_memory_is_kept_until_the_copy_is_done(device: Device) -> None:
    """What is let go of is not given out meanwhile, and is afterwards."""
    made = device.copy_in_later(pinned(device, 3), 0)
    other = pinned(device, 4)
    assert device.pinned_bytes() == 32
    device.streams[0].stream.run()
    assert made.values.tolist() == [3] * 4
    assert device.pinned_bytes() == 16
    del other
    assert device.pinned_bytes() == 0


def test_a_copy_to_the_host_gathers_and_is_late(device: Device) -> None:
    """Every second element arrives when the stream has come so far."""
    a = Array(np.arange(8, dtype=np.float32)[::2], 0)
    host = pinned(device, 9)
    device.copy_out_later(a, host)
    assert host.tolist() == [9] * 4
    device.streams[0].stream.run()
    assert host.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("first", [0, 1])
def test_devices_wait_for_each_other(device: Device, first: int) -> None:
    """A copy waits for the writer of its source, and later work there for the copy.

    Whichever device gets on first.
    """
    a = Array(np.zeros(4, np.float32), 0)
    here, there = (s.stream for s in device.streams)
    here.jobs.append(lambda: a.values.fill(1))
    made = device.copy_peer(a, 1)
    here.jobs.append(lambda: a.values.fill(2))
    for stream in (here, there) if first == 0 else (there, here):
        stream.run()
    assert made.values.tolist() == [1] * 4
    assert a.values.tolist() == [2] * 4


def test_nothing_is_copied_of_nothing(device: Device) -> None:
    """Arrays without elements need no stream."""
    host = pinned_array(device, (0, 3), float32, 0)
    made = device.copy_in_later(host, 0)
    device.copy_out_later(made, host)
    assert device.copy_peer(made, 1).shape == (0, 3)
    assert not device.streams[0].stream.jobs
