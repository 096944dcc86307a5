"""Capabilities that do not keep what they promise: DLPack, host memory, streams."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.mutant import Mutant, backend

import dovetail as dt
from dovetail.conformance.subject import Subject
from dovetail.device_api import registry
from dovetail.testing.chaos_device.backend import ChaosBackend
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]

# ---- DLPack


class CopiesOnImport(CpuBackend):
    def dlpack_import(self, source: Any, index: int, *, copy: bool | None) -> Any:
        found = super().dlpack_import(source, index, copy=copy)
        return type(found)(found.native.copy(), found.dtype, found.readonly)


class CopiesOnExport(CpuBackend):
    def dlpack_export(self, native: Array, **options: Any) -> Any:
        return super().dlpack_export(native.copy(), **options)


class _ExportsFlat(CpuBackend):
    """Strides are not told."""

    def dlpack_export(self, native: Array, **options: Any) -> Any:
        if native.size and not native.flags.c_contiguous and native.ndim > 1:
            flat = np.lib.stride_tricks.as_strided(
                native, native.shape, np.empty(native.shape, native.dtype).strides
            )
            inside = native.base is not None and min(native.strides) > 0
            native = flat if inside else native
        return super().dlpack_export(native, **options)


class _BorrowedLosesTail(CpuBackend):
    """Of borrowed rows the last one is not seen."""

    def dlpack_import(self, source: Any, index: int, *, copy: bool | None) -> Any:
        found = super().dlpack_import(source, index, copy=copy)
        native = found.native
        if native.ndim == 2 and len(native) > 1:
            native = native[:-1]
        return type(found)(native, found.dtype, found.readonly)


def _lent(subject: Subject) -> Any:
    """Numbers through DLPack, before and after the lender writes."""
    x = subject.tensor(np.arange(6, dtype=np.float32).reshape(2, 3)).t()
    y = dt.from_dlpack(x, device=subject.device)
    before = subject.values(y)
    x.fill_(9)
    z = dt.from_dlpack(np.arange(8.0).reshape(2, 4), device=subject.device)
    return [before, subject.values(y), subject.values(z)]


# ---- streams, on the chaos device: it does work late where it may


class Chaotic(ChaosBackend):
    """The chaos device around the CPU, as a type of its own."""

    dtypes = CpuBackend.dtypes

    def __init__(self) -> None:
        super().__init__(registry.load("cpu"))


class _WaitsForNothing(Chaotic):
    def wait_event(self, stream: Any, event: Any) -> None:
        """Events are not waited for."""


class _RecordsNothing(Chaotic):
    def record_event(self, event: Any, stream: Any) -> None:
        """Events stand for nothing."""


class _NeverIdle(Chaotic):
    def stream_idle(self, stream: Any) -> bool:
        return False


class _NeverDone(Chaotic):
    def event_done(self, event: Any) -> bool:
        return False


class _OneStream(Chaotic):
    """All streams are the default one."""

    def new_stream(self, index: int, priority: int) -> Any:
        return self.default_stream(index)


class _ClockBackwards(Chaotic):
    def elapsed_ms(self, start: Any, end: Any) -> float:
        return super().elapsed_ms(end, start) - 1e-3


def _streams(subject: Subject) -> Any:
    """Work on two streams that wait for each other."""
    device = subject.device
    one, two = dt.Stream(device), dt.Stream(device)
    start, end = (dt.Event(device, enable_timing=True) for _ in range(2))
    x = subject.tensor(np.ones((4, 4), np.float32))
    dt.synchronize(device)
    with one:
        start.record()
        y = x * 2
        for _ in range(4):
            y = y @ x
        end.record()
        done = one.record_event()
    two.wait_event(done)
    with two:
        z = y + 1
        values = subject.values(z)
    end.synchronize()
    one.synchronize()
    return [values, one == two, one.query(), end.query(),
            start.elapsed_time(end) >= 0]  # fmt: skip


def _dlpack(name: str, describes: str, cls: type[Any], observe: Any) -> Mutant:
    return backend(f"capabilities/dlpack-{name}", describes, cls, observe,
                   laws=("dlpack",))  # fmt: skip


def _stream(name: str, describes: str, cls: type[Any]) -> Mutant:
    return backend(f"capabilities/streams-{name}", describes, cls, _streams,
                   laws=("streams",))  # fmt: skip


CAPABILITIES: Final[list[Mutant]] = [
    _dlpack("import-copies", "what is borrowed is not shared", CopiesOnImport,
            _lent),
    _dlpack("export-copies", "what is lent is not shared", CopiesOnExport, _lent),
    _dlpack("export-flat", "strides are not told", _ExportsFlat, _lent),
    _dlpack("import-loses-a-row", "the last row of what is borrowed",
            _BorrowedLosesTail, _lent),
    _stream("wait-for-nothing", "events are not waited for", _WaitsForNothing),
    _stream("events-of-nothing", "events stand for nothing", _RecordsNothing),
    _stream("never-idle", "a stream is never done", _NeverIdle),
    _stream("never-done", "an event is never done", _NeverDone),
    _stream("only-one", "all streams are the default one", _OneStream),
    _stream("clock-backwards", "less than no time passes", _ClockBackwards),
]  # fmt: skip
