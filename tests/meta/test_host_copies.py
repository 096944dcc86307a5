"""The laws on copies that nobody waits for: sound devices pass, faults are caught."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from tests.meta.mutants.catalogue.capabilities import Chaotic
from tests.meta.planted import verdict, verdict_on

from dovetail import dtypes
from dovetail.conformance.verdicts import Outcome
from dovetail.device_api import PeerCopies, PinnedBlock, host_copies
from dovetail.ops import create
from dovetail_fake.backend import FakeBackend
from dovetail_fake.memory import FakeArray

Array = np.ndarray[Any, Any]


class NeverFrees(Chaotic):
    """Pinned memory is counted for good."""

    def pinned(self, size: int, index: int) -> PinnedBlock:
        self._pinned += size
        return super().pinned(size, index)


class TooSoon(Chaotic):
    """What goes to the host does not wait for the work that makes it."""

    def copy_out_later(self, a: Any, host: Array) -> None:
        host[...] = self.wrapped.copy_out(a.inner)


class TooLate(Chaotic):
    """Nor does the work that comes later wait for it."""

    def copy_out_later(self, a: Any, host: Array) -> None:
        self._due: list[Any] = [*getattr(self, "_due", []), (a, host)]

    def synchronize(self, index: int) -> None:
        super().synchronize(index)
        for a, host in getattr(self, "_due", []):
            host[...] = self.wrapped.copy_out(a.inner)
        self._due = []


class Flat(Chaotic):
    """Elements that go to the host go in the order of memory."""

    def copy_out_later(self, a: Any, host: Array) -> None:
        self.synchronize(a.cell.index)
        lies = np.argsort([-s for s in a.inner.strides], kind="stable")
        flat = np.ascontiguousarray(a.inner.transpose(lies)).reshape(-1)
        host.reshape(-1)[...] = flat


class LetsGo(Chaotic):
    """A copy does not keep the memory it reads, which the next one gets."""

    _one: Any = None

    def pinned(self, size: int, index: int) -> PinnedBlock:
        if self._one is None or len(self._one) < size:
            self._one = np.zeros(max(size, 1 << 20), np.uint8)
        return PinnedBlock(self.type, self._one.ctypes.data, size, lambda: None)

    def copy_in_later(self, host: Array, index: int) -> Any:
        address, size = host.ctypes.data, host.nbytes
        dtype = dtypes.from_numpy(host.dtype)
        made = self.allocate(host.shape, dtype, index, "copy_in_later")
        shape, numpy = host.shape, host.dtype

        def action() -> None:
            late = np.frombuffer(ctypes.string_at(address, size), numpy).reshape(shape)
            self.wrapped.copy(made.inner, late)

        self._submit("copy_in_later", action, made)
        return made


class DefaultIsDone(Chaotic):
    """No stream waits for what the default one has to do."""

    def wait_event(self, stream: Any, event: Any) -> None:
        if event.job is None or event.job.stream is not event.device.default:
            super().wait_event(stream, event)


class FirstPlace(Chaotic):
    """An event that is recorded again stands where it stood."""

    def record_event(self, event: Any, stream: Any) -> None:
        if event.job is None:
            super().record_event(event, stream)


class IdleForgets(Chaotic):
    """A stream without work waits for nothing."""

    def wait_event(self, stream: Any, event: Any) -> None:
        if stream.pending():
            super().wait_event(stream, event)


class DefaultAlone(Chaotic):
    """The device is waited for by its default stream."""

    def synchronize(self, index: int) -> None:
        self.synchronize_stream(self.default_stream(index))


class YesTooSoon(Chaotic):
    """Whoever asks for an event is told that it is done."""

    def event_done(self, event: Any) -> bool:
        super().event_done(event)
        return True


class NullStream(Chaotic):
    """What goes to the host goes by the default stream, whichever was chosen."""

    def copy_out_later(self, a: Any, host: Array) -> None:
        held = self.current_stream
        self.current_stream = self.default_stream  # type: ignore[method-assign]
        try:
            super().copy_out_later(a, host)
        finally:
            self.current_stream = held  # type: ignore[method-assign]


class InSeconds(Chaotic):
    """Times between events are told in another unit."""

    def elapsed_ms(self, start: Any, end: Any) -> float:
        return super().elapsed_ms(start, end) / 1e3


@pytest.mark.parametrize(
    ("law", "fault"),
    [
        ("in_flight", DefaultIsDone),
        ("in_flight", FirstPlace),
        ("in_flight", IdleForgets),
        ("in_flight", DefaultAlone),
        ("in_flight", YesTooSoon),
        ("in_flight", NullStream),
        ("streams", InSeconds),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_faults_of_order_are_caught(law: str, fault: type[Any]) -> None:
    """Wrong values, or the chaos device itself tells of a race."""
    found = verdict(fault, law, "-")
    assert found.outcome in (Outcome.WRONG, Outcome.REFUSED), found.outcome


@pytest.mark.parametrize(
    ("law", "fault", "dtype"),
    [
        ("pinned", NeverFrees, "float32"),
        ("pinned", Flat, "int32"),
        ("in_flight", TooSoon, "-"),
        ("in_flight", TooLate, "-"),
        ("in_flight", LetsGo, "-"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_faults_are_caught(law: str, fault: type[Any], dtype: str) -> None:
    """A law calls the planted fault wrong."""
    found = verdict(fault, law, dtype)
    assert found.outcome is Outcome.WRONG, found.outcome


@pytest.mark.parametrize("law", ["pinned", "in_flight"])
def test_a_sound_device_passes(law: str) -> None:
    """The device of which the faulty ones are made."""
    dtype = "-" if law == "in_flight" else "bfloat16"
    assert verdict(Chaotic, law, dtype).outcome is Outcome.PASSED
    assert verdict_on("cpu", law, dtype).outcome is Outcome.UNCLAIMED


def test_core_that_never_waits_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `non_blocking` the source is free at once."""

    def late(source: Any, a: Any, place: int, target: Any, index: int) -> Any:
        f4 = dtypes.float32
        found = host_copies.copied_later(source, a, f4, place, target, index)
        return sound(source, a, place, target, index) if found is None else found

    sound = create.copied
    monkeypatch.setattr(create, "copied", late)
    assert verdict(Chaotic, "in_flight", "-").outcome is Outcome.WRONG


class Copies(FakeBackend, PeerCopies):
    """The fake device, with copies from one to another."""

    def copy_peer(self, a: FakeArray, index: int) -> FakeArray:
        return self.copy_in(a.elements(), index)


class SameMemory(Copies):
    """A copy on another device is a view."""

    def copy_peer(self, a: FakeArray, index: int) -> FakeArray:
        return a


def test_copies_among_devices() -> None:
    """A sound device passes, one that shares memory does not, others do not claim."""
    assert verdict(Copies, "peers", "-").outcome is Outcome.PASSED
    assert verdict(SameMemory, "peers", "-").outcome is Outcome.WRONG
    assert verdict_on("chaos:cpu", "peers", "-").outcome is Outcome.UNCLAIMED
