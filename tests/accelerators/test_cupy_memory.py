"""The allocator of CuPy devices counts, limits, tries twice, and keeps what is used."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import pytest
from tests.accelerators.stand_in_cupy import (
    CUDARuntimeError,
    MemoryPool,
    OutOfMemoryError,
    library,
)

from dovetail.errors import BackendError, DeviceLost, OutOfMemory
from dovetail_cupy.faults import guarded
from dovetail_cupy.memory import Memory


@pytest.fixture
def memory() -> Memory:
    """The memory of one device, of a hundred bytes."""
    return Memory("cuda", library(100), 1)


def test_counts(memory: Memory) -> None:
    """Bytes are counted while something holds them, and their peak stays."""
    held = memory.allocate(30)
    memory.allocate(40)
    counts = memory.counts[0].by_name()
    assert held.mem.size == counts["allocated_bytes.all.current"] == 30
    assert counts["allocated_bytes.all.peak"] == 70
    assert counts["allocation.all.freed"] == 1


def test_limit(memory: Memory) -> None:
    """Beyond the limit nothing is given out, and what was asked for is named."""
    memory.counts[0].limit = 50
    held = memory.allocate(30)
    with pytest.raises(OutOfMemory, match=r"30 bytes in use and 21 more.*at most 50"):
        memory.allocate(21)
    assert memory.counts[0].live == held.mem.size


def test_tried_again_after_a_collection(memory: Memory) -> None:
    """What only a cycle of garbage holds is given out again."""
    cycle: list[Any] = [memory.allocate(80)]
    cycle.append(cycle)
    gc.disable()
    try:
        del cycle
        assert memory.allocate(60).mem.size == 60
    finally:
        gc.enable()
    assert memory.counts[0].retries == 1


def test_tried_again_after_a_trim(memory: Memory) -> None:
    """What the pool keeps for nobody is given back to the device first."""
    memory._pool.cached = 90
    assert memory.allocate(60).mem.size == 60


def test_exhausted(memory: Memory) -> None:
    """What is not there is a MemoryError in our words, and is counted."""
    with pytest.raises(MemoryError, match="101 bytes beside 0 in use"):
        memory.allocate(101)
    assert memory.counts[0].refused == 1


def test_kept_for_another_stream(memory: Memory) -> None:
    """Memory lives on until the event has come, and not longer."""
    event = SimpleNamespace(done=False)
    memory.keep(memory.allocate(30).mem, event)
    memory.allocate(1)
    assert memory.counts[0].live == 30
    event.done = True
    memory.release()
    assert memory.counts[0].live == 0


class DynamicLibNotFoundError(RuntimeError):
    """What CUDA's libraries are looked for with raises, by its name."""


@pytest.mark.parametrize(
    ("raised", "expected", "told"),
    [
        (OutOfMemoryError("Out of memory"), OutOfMemory, "less at a time"),
        (
            CUDARuntimeError("cudaErrorIllegalAddress: …"),
            DeviceLost,
            "start the process",
        ),
        (
            DynamicLibNotFoundError("no libcublas.so"),
            BackendError,
            r"libcublas.*\[ctk\]",
        ),
        (
            CUDARuntimeError("cudaErrorInvalidValue: LaunchFailure"),
            RuntimeError,
            "Inval",
        ),
        (
            OutOfMemory("cuda", "memory", was="a", needed="b"),
            OutOfMemory,
            "is a, needed",
        ),
    ],
)
def test_faults(raised: Exception, expected: type[Exception], told: str) -> None:
    """CuPy's errors come out in our words; what says enough stays as it is."""

    def fail() -> None:
        raise raised

    with pytest.raises(expected, match=told) as caught:
        guarded("cuda", fail)
    assert caught.value is raised or caught.value.__cause__ is raised


def test_what_a_stream_records_has_memory_of_its_own() -> None:
    """It is of another pool until the graph is recorded, and counted as any other."""
    cupy = library(100)
    own, here = MemoryPool(60), SimpleNamespace(ptr=3)
    cupy.cuda.get_current_stream = lambda: here
    memory = Memory("cuda", cupy, 1)
    memory.part(7, own)
    outside = memory.allocate(10)
    assert own.left == 60
    here.ptr = 7
    inside = memory.allocate(50)
    assert own.left == 10
    assert memory.join(7) is own
    after = memory.allocate(20)
    assert own.left == 10
    held = (outside, inside, after)
    assert memory.counts[0].live == sum(x.mem.size for x in held) == 80
