"""Streams and events: torch's names over a backend's own queues of work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.device_api import CallersContext, Streams, registry
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    KernelError,
    NotSupported,
    StreamError,
)
from dovetail.testing import chaos
from dovetail.xp.scratch import scratch

DEVICE = "chaos:cpu"


@pytest.fixture(autouse=True, params=range(3))
def order(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every claim holds in several orders of work."""
    with chaos(seed=request.param):
        yield


def test_work_goes_to_the_chosen_stream() -> None:
    """`with stream:` chooses, also one within another; outside is the default one."""
    first, second = dt.Stream(DEVICE), dt.Stream(DEVICE, priority=-1)
    default = dt.default_stream(DEVICE)
    assert dt.current_stream(DEVICE) == default != first
    with first as entered:
        assert entered is first
        with dt.stream(second), first:
            assert dt.current_stream(DEVICE) == first
        assert dt.current_stream(DEVICE) == first
    assert dt.current_stream(DEVICE) == default
    assert (first.device, first.device_index) == (dt.device("chaos:cpu:0"), 0)
    assert repr(default) == "dovetail.Stream(chaos:cpu:0, default)"
    assert len({first, second, default, dt.current_stream(DEVICE)}) == 3


def test_a_failing_block_leaves_its_stream() -> None:
    """An exception restores the stream from before."""
    with pytest.raises(ZeroDivisionError), dt.Stream(DEVICE):
        raise ZeroDivisionError
    assert dt.current_stream(DEVICE) == dt.default_stream(DEVICE)


def test_set_stream() -> None:
    """`set_stream` chooses from now on."""
    chosen = dt.Stream(DEVICE)
    dt.set_stream(chosen)
    assert dt.current_stream(DEVICE) == chosen
    dt.set_stream(dt.default_stream(DEVICE))
    assert dt.current_stream(DEVICE) == dt.default_stream(DEVICE)


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x * 2,
        lambda x: x.fill_(3),
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: dt.tensor([1.0], device=DEVICE),
        lambda x: x.softmax(0).nonzero(),
    ],
)
def test_the_backend_is_told(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels, fills, copies and transfers go to the stream of their caller."""
    x, side = dt.ones(4, device=DEVICE), dt.Stream(DEVICE)
    device, used = side.handle.device, set()
    side.wait_stream(dt.current_stream(DEVICE))
    submit = device.submit

    def noted(job: Any) -> None:
        used.add(job.stream)
        submit(job)

    monkeypatch.setattr(device, "submit", noted)
    with side:
        work(x)
    assert used == {side.handle}


def test_streams_are_local_to_threads_and_tasks() -> None:
    """What one thread or task chooses, no other one sees, even in between."""
    default, seen = dt.default_stream(DEVICE), []
    with dt.Stream(DEVICE):
        thread = threading.Thread(target=lambda: seen.append(dt.current_stream(DEVICE)))
        thread.start()
        thread.join()
    assert seen == [default]

    async def task(stream: Any) -> bool:
        with stream:
            for _ in range(3):
                await asyncio.sleep(0)
                x = dt.ones(2, device=DEVICE) * 2
                jobs = [j.stream for j in stream.handle.device.pending if j.fresh]
                if jobs and jobs[-1] is not stream.handle:
                    return False
                assert x.tolist() == [2.0, 2.0]
                if dt.current_stream(DEVICE) != stream:
                    return False
        return True

    async def both() -> list[bool]:
        return await asyncio.gather(task(dt.Stream(DEVICE)), task(dt.Stream(DEVICE)))

    assert asyncio.run(both()) == [True, True]


def test_an_event_stands_for_what_came_before() -> None:
    """It is done when that is, and waiting for it waits for no more."""
    side = dt.Stream(DEVICE)
    event = dt.Event(DEVICE)
    assert event.query()  # nobody recorded it
    event.synchronize()
    with side:
        x = dt.ones(4, device=DEVICE) * 2
        event.record()
    event.synchronize()
    assert event.query()
    assert x.tolist() == [2.0] * 4


def test_asking_again_and_again_comes_to_an_end() -> None:
    """`query` never waits, and a loop around it ends."""
    with dt.Stream(DEVICE) as side:
        x = dt.ones(4, device=DEVICE)
        for _ in range(10):
            x = x + 1
    for ready in (side.record_event().query, side.query):
        for _ in range(1000):
            if ready():
                break
        else:
            pytest.fail("never ready")
    assert x.tolist() == [11.0] * 4


def test_record_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend is told which stream uses memory; it has to be one of its own."""
    x, side, told = dt.ones(2, device=DEVICE), dt.Stream(DEVICE), []
    streams = registry.resolve(DEVICE)[0].capability(Streams)
    monkeypatch.setattr(streams, "keep", lambda *args: told.append(args))
    x.record_stream(side)
    assert told == [(x._a, side.handle)]
    dt.ones(2).record_stream(dt.current_stream("cpu"))
    with pytest.raises(ArgumentError, match="s is on cpu, needed one on chaos:cpu:0"):
        x.record_stream(dt.current_stream("cpu"))


def test_streams_wait_for_each_other() -> None:
    """`wait_event` and `wait_stream` put the one's later work behind the other's."""
    first, second, third = (dt.Stream(DEVICE) for _ in range(3))
    done: list[str] = []
    backend, _ = registry.resolve(DEVICE)
    device: Any = backend.device(0)  # type: ignore[attr-defined]

    def mark(name: str, stream: Any) -> None:
        from dovetail.testing.chaos_device.work import Job

        device.submit(Job(name, lambda: done.append(name), stream.handle))

    for _ in range(20):
        done.clear()
        mark("a", first)
        event = first.record_event()
        second.wait_event(event)
        mark("b", second)
        third.wait_stream(second)
        event.wait(first)  # for itself: nothing to wait for
        mark("c", third)
        dt.synchronize(DEVICE)
        assert done == ["a", "b", "c"]


def test_using_what_another_stream_makes_needs_a_wait() -> None:
    """Without an event between them it is refused by law, not by luck."""
    x, side = dt.ones(4, device=DEVICE), dt.Stream(DEVICE)
    with (
        side,
        pytest.raises(StreamError, match="mul: memory is written by fill on"),
    ):
        x * 2
    side.wait_stream(dt.current_stream(DEVICE))
    with side:
        y = x * 2
    with pytest.raises(StreamError, match="copy_out: memory is written by mul"):
        y.tolist()
    with pytest.raises(StreamError, match="fill: memory is read by mul on another"):
        x.fill_(5)
    event = side.record_event()
    event.wait()
    assert y.tolist() == [2.0] * 4
    x.fill_(5)
    assert x.tolist() == [5.0] * 4


@pytest.mark.parametrize(
    "wait",
    [
        lambda side: side.synchronize(),
        lambda side: dt.synchronize(DEVICE),
        lambda side: side.record_event().synchronize(),
        lambda side: [None for _ in iter(side.query, True)],
        lambda side: [None for _ in iter(side.record_event().query, True)],
        lambda side: dt.current_stream(DEVICE).wait_stream(side),
    ],
)
def test_every_way_to_wait(wait: Any) -> None:
    """After any of them, what the other stream made may be used."""
    side = dt.Stream(DEVICE)
    with side:
        x = dt.full((3,), 2.0, device=DEVICE)
    wait(side)
    assert (x + x).tolist() == [4.0] * 3


def test_numbers_are_for_every_stream() -> None:
    """A number that one stream was the first to use, another one may use."""
    for _ in range(2):
        with dt.Stream(DEVICE):
            x = dt.full((3,), 2.0, device=DEVICE) * 1.0625 + 0.40625
            assert x.tolist() == [2.53125] * 3


def test_time_between_events() -> None:
    """`elapsed_time` gives milliseconds, in the order in which events were reached."""
    start, end = (dt.Event(DEVICE, enable_timing=True) for _ in range(2))
    start.record()
    x = dt.ones(64, 64, device=DEVICE)
    x @ x
    end.record()
    end.synchronize()
    assert 0 < start.elapsed_time(end) < 60_000
    assert end.elapsed_time(start) == -start.elapsed_time(end)


def test_time_that_cannot_be_told() -> None:
    """Events need timing, a record, and to be done."""
    timed = dt.Event(DEVICE, enable_timing=True)
    timed.record()
    timed.synchronize()
    with pytest.raises(ArgumentError, match="end_event is made without enable_timing"):
        timed.elapsed_time(dt.Event(DEVICE))
    with pytest.raises(ArgumentError, match="end_event is not recorded"):
        timed.elapsed_time(dt.Event(DEVICE, enable_timing=True))


def test_a_stream_of_another_device() -> None:
    """An event is recorded on streams of its own device."""
    event = dt.Event(DEVICE)
    with pytest.raises(ArgumentError, match=r"record: stream is on cpu"):
        event.record(dt.current_stream("cpu"))
    with pytest.raises(ArgumentTypeError, match="needed a Stream"):
        event.wait("side")  # type: ignore[arg-type]


def test_a_device_without_streams() -> None:
    """It has its default one, which can be waited for; others are refused in words."""
    with pytest.raises(NotSupported, match="Stream: device is cpu, which has no stre"):
        dt.Stream("cpu")
    with pytest.raises(NotSupported, match="Event: device is cpu"):
        dt.Event("cpu")
    only = dt.current_stream("cpu")
    assert only == dt.default_stream("cpu")
    assert repr(only) == "dovetail.Stream(cpu, default)"
    only.synchronize()
    with only:
        assert dt.current_stream("cpu") == only
    dt.set_stream(only)
    for refused in (only.query, only.record_event):
        with pytest.raises(NotSupported, match=r"Stream\.\w+: device is cpu"):
            refused()


def test_a_backend_whose_kernels_cannot_see_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A backend that offers streams has to run its kernels in the caller's context."""
    import contextvars

    backend, _ = registry.resolve(DEVICE)
    monkeypatch.setattr(backend, "context", contextvars.Context())
    with pytest.raises(KernelError, match="needed a CallersContext"):
        dt.Stream(DEVICE)


def test_the_callers_context() -> None:
    """A function run there sees the caller's variables, in any number of threads."""
    context = CallersContext()
    assert context.run(divmod, 7, 2) == (3, 1)
    assert context.copy().run(context.run, int, "7", base=8) == 7
    assert context.copy() is context


def test_training_on_two_streams() -> None:
    """Two networks train beside each other as they do one after the other."""

    def step(p: Any) -> None:
        loss = ((p * 2 - 1) ** 2).sum()
        (g,) = dt.autograd.grad(loss, [p])
        with dt.no_grad():
            p.sub_(g * 0.1)

    def start() -> list[Any]:
        return [
            dt.full((3,), float(i), device=DEVICE, requires_grad=True) for i in (1, 2)
        ]

    want = start()
    for p in want:
        for _ in range(3):
            step(p)
    got, sides = start(), [dt.Stream(DEVICE), dt.Stream(DEVICE)]
    for side in sides:
        side.wait_stream(dt.current_stream(DEVICE))
    for _ in range(3):
        for p, side in zip(got, sides, strict=True):
            with side:
                step(p)
    for side in sides:
        dt.current_stream(DEVICE).wait_stream(side)
    assert [p.tolist() for p in got] == [p.tolist() for p in want]


@pytest.mark.parametrize("made", ["before", "after"])
def test_shared_numbers_order_streams_without_the_host(
    made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number cached by one stream serves others, known or new; nobody waits."""
    backend = registry.load("chaos:cpu")
    waits: list[Any] = []
    kind = dt.ones(1, device=DEVICE)._kind
    monkeypatch.setattr(type(backend), "share", Streams.share)
    monkeypatch.setattr(type(backend), "synchronize_stream", waits.append)
    x = dt.ones(3, device=DEVICE)
    dt.synchronize(DEVICE)
    other = dt.Stream(DEVICE) if made == "before" else None
    with dt.Stream(DEVICE):
        kind.scalars[float].pop(0.8125, None)
        x * 0.8125
    with other or dt.Stream(DEVICE) as other:
        y = x * 0.8125
        assert y.tolist() == [0.8125] * 3
    assert waits == []


LIKE = np.zeros(1)


def test_working_memory_is_not_shared_between_devices() -> None:
    """A kernel on one device gets no working memory of another."""
    first, second, again = (
        scratch(np, SimpleNamespace(device=d), "test", 4, "float32") for d in (0, 1, 0)
    )
    assert not np.shares_memory(first, second)
    assert np.shares_memory(first, again)


def test_working_memory_is_not_shared_between_streams() -> None:
    """Kernels keep working memory from call to call only where work has one order."""
    kept = [scratch(np, LIKE, "test", 4, "float32") for _ in range(2)]
    assert np.shares_memory(*kept)
    with dt.Stream(DEVICE):
        first = scratch(np, LIKE, "test", 4, "float32")
    with dt.Stream(DEVICE):
        second = scratch(np, LIKE, "test", 4, "float32")
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, kept[0])
