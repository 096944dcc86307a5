"""What a pool counts: all that is in use, the most of it, and what a limit allows."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import numpy as np

from dovetail.conformance.law import Wrong
from dovetail.conformance.subject import Subject
from dovetail.device_api.capabilities import Pool
from dovetail.dtypes import float32
from dovetail.errors import NotSupported, OutOfMemory

_MANY: Final = 1 << 16  # elements of what a pool is asked for
_REPEATS: Final = 4


def pool_counts(subject: Subject, pool: Pool) -> None:
    """Raise unless a pool counts what is in use, and keeps to its limit."""
    backend, index = subject.backend, subject.index
    for count in (1, 1000, 1 << 16):
        gc.collect()
        before, peak = pool.live_bytes(index), pool.peak_bytes(index)
        native = backend.empty((count,), float32, index)
        grown, size = pool.live_bytes(index) - before, 4 * count
        if grown < size:
            raise Wrong(f"live_bytes grew by {grown} for an array of {size} bytes")
        seen = backend.view(native, (1,), (1,), 0)
        if pool.live_bytes(index) - before > grown:
            raise Wrong("live_bytes grew for a view, which has no memory of its own")
        top = pool.peak_bytes(index)
        if top < max(peak, pool.live_bytes(index)):
            raise Wrong(f"peak_bytes is {top}, below what was in use")
        del native
        if pool.live_bytes(index) - before < grown:
            raise Wrong("live_bytes fell while a view kept the memory")
        del seen
        backend.synchronize(index)
        left = pool.live_bytes(index) - before
        if left > 0:
            raise Wrong(f"{left} bytes are in use after the array is gone")
        if pool.peak_bytes(index) < top:
            raise Wrong("peak_bytes fell")
        _results_count(subject, pool, count)
    _peak_begins_anew(subject, pool)
    _limit_holds(subject, pool)


def _results_count(subject: Subject, pool: Pool, count: int) -> None:
    """What a kernel makes is counted as fresh memory is."""
    x = subject.tensor(np.ones(count, np.float32))
    subject.backend.synchronize(subject.index)
    before = pool.live_bytes(subject.index)
    y = x + x
    if (grown := pool.live_bytes(subject.index) - before) < 4 * count:
        raise Wrong(f"live_bytes grew by {grown} for a result of {4 * count} bytes")
    del y
    subject.backend.synchronize(subject.index)
    if (left := pool.live_bytes(subject.index) - before) > 0:
        raise Wrong(f"{left} bytes are in use after a result is gone")


def _peak_begins_anew(subject: Subject, pool: Pool) -> None:
    """The peak begins at what is in use then, and rises from there."""
    backend, index = subject.backend, subject.index
    held = backend.empty((_MANY,), float32, index)
    more = backend.empty((_MANY,), float32, index)
    del more
    backend.synchronize(index)
    try:
        pool.reset_peak(index)
    except NotSupported:
        return
    peak, live = pool.peak_bytes(index), pool.live_bytes(index)
    if peak != live:
        raise Wrong(f"peak_bytes is {peak} after reset_peak, with {live} in use")
    more = backend.empty((_MANY,), float32, index)
    most = pool.live_bytes(index)
    del more
    if (peak := pool.peak_bytes(index)) < most:
        raise Wrong(f"peak_bytes is {peak} after reset_peak, and {most} were in use")
    del held


def _limit_holds(subject: Subject, pool: Pool) -> None:
    """Memory beyond a limit is refused, and not counted; without it there is room."""
    backend, index = subject.backend, subject.index
    x = subject.tensor(np.ones(_MANY, np.float32))
    before = pool.live_bytes(index)
    try:
        pool.set_limit(index, before + _MANY)
    except NotSupported:
        return
    makes: dict[str, Callable[[], Any]] = {
        "fresh memory": lambda: backend.empty((_MANY,), float32, index),
        "the result of a kernel": lambda: x + x,
    }
    try:
        for what, make in makes.items():
            with suppress(OutOfMemory):
                make()
                raise Wrong(f"{what} beyond the limit is not refused")
    finally:
        pool.set_limit(index, None)
    if pool.live_bytes(index) > before:
        raise Wrong("memory that was refused stays in use")
    backend.empty((_MANY,), float32, index)
    _room_comes_back(subject, pool)


def _room_comes_back(subject: Subject, pool: Pool) -> None:
    """A limit is of what is in use: what is freed may be had again, and again."""
    backend, index = subject.backend, subject.index
    free = pool.live_bytes(index)
    made = backend.empty((_MANY,), float32, index)
    size = pool.live_bytes(index) - free  # as the pool rounds it
    del made
    backend.synchronize(index)
    pool.set_limit(index, pool.live_bytes(index) + size + size // 2)
    try:
        for turn in range(_REPEATS):
            try:
                made = backend.empty((_MANY,), float32, index)
            except OutOfMemory as error:
                raise Wrong(
                    f"memory within the limit is refused, after {turn} pieces of its "
                    f"size were freed: {error}"
                ) from error
            del made
            backend.synchronize(index)
    finally:
        pool.set_limit(index, None)
