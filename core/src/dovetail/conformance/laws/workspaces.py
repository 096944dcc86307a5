"""Memory that kernels work in: whose it is, what of it is counted, when it goes."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail.accelerator import Graph
from dovetail.conformance.law import Trial, Unclaimed, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits
from dovetail.conformance.subject import Subject
from dovetail.device_api.capabilities import Pool, Streams
from dovetail.device_api.graphs import Graphs
from dovetail.device_api.workspaces import Workspaces
from dovetail.dtypes import uint8

_SIZE: Final = 5000  # bytes
_REPEATS: Final = 4
_PATIENCE: Final = 60  # seconds for which a thread waits for another one


@device_law("workspaces", rank=57, per_dtype=False)
def workspaces(trial: Trial) -> None:
    """No two kernels that may run at once share a workspace.

    Those of a stream are used again and counted, and are given back when asked for.
    """
    if trial.subject.backend.capability(Workspaces) is None:
        raise Unclaimed(f"{trial.subject.device} has no capability Workspaces")
    for claim in (_of_roles, _of_streams, _of_threads, _of_graphs, _again, _given_back):
        contextvars.copy_context().run(claim, trial.subject)
        dt.synchronize(trial.subject.device)


def _asked(subject: Subject, size: int = _SIZE, role: str = "") -> Any:
    """A workspace, as the kernel of a call asks for it."""
    found = subject.backend.capability(Workspaces)
    assert found is not None
    made = subject.backend.runner(subject.index)(
        found.workspace, size, subject.index, role
    )
    if tuple(made.shape) != (size,):
        raise Wrong(f"a workspace of {size} bytes has the shape {tuple(made.shape)}")
    return made


def _filled(subject: Subject, value: int, **asked: Any) -> Any:
    made = _asked(subject, **asked)
    subject.backend.fill(made, value)
    return made


def _holds(subject: Subject, native: Any, value: int, what: str) -> None:
    want = np.full(tuple(native.shape), value, np.uint8)
    expect_bits(what, subject.backend.copy_out(native), want)


def _kept(subject: Subject) -> int:
    found = subject.backend.capability(Workspaces)
    assert found is not None
    return found.workspace_bytes(subject.index)


def _of_roles(subject: Subject) -> None:
    """Two roles of one kernel have memory of their own, whatever their sizes."""
    for size in (1, _SIZE, 3):
        first = _filled(subject, 1, size=size, role="first")
        second = _filled(subject, 2, size=_SIZE, role="second")
        _holds(subject, first, 1, "a workspace beside one of another role")
        _holds(subject, second, 2, "a workspace beside one of another role")


def _of_streams(subject: Subject) -> None:
    """Two streams have memory of their own."""
    if subject.backend.capability(Streams) is None:
        return
    made = [_filled(subject, 0)]
    for value in (1, 2):
        with dt.Stream(subject.device):
            made.append(_filled(subject, value))
    dt.synchronize(subject.device)
    for value, native in enumerate(made):
        _holds(subject, native, value, "the workspace of a stream beside another's")


def _of_threads(subject: Subject) -> None:
    """Two threads that compute at once have memory of their own."""
    together = threading.Barrier(2)
    found: dict[int, Any] = {}

    def compute(value: int) -> None:
        together.wait(_PATIENCE)
        made = _filled(subject, value)
        together.wait(_PATIENCE)
        found[value] = subject.backend.copy_out(made)

    threads = [threading.Thread(target=compute, args=(value,)) for value in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for value in (1, 2):
        if value not in found:
            raise Wrong("a thread does not get a workspace")
        want = np.full(_SIZE, value, np.uint8)
        expect_bits("the workspace of a thread beside another's", found[value], want)


def _of_graphs(subject: Subject) -> None:
    """What a graph works in, nobody else gets on the stream that recorded it."""
    if subject.backend.capability(Graphs) is None:
        return
    stream, graph = dt.Stream(subject.device), Graph()
    with stream, graph:
        _filled(subject, 3)
    with stream:
        other = _filled(subject, 4)
    dt.synchronize(subject.device)
    graph.replay()
    dt.synchronize(subject.device)
    _holds(subject, other, 4, "a workspace beside that of a graph")


def _again(subject: Subject) -> None:
    """What is kept is counted, and does not grow by asking again."""
    _asked(subject, _SIZE)
    kept = _kept(subject)
    if kept < _SIZE:
        raise Wrong(f"workspace_bytes is {kept}, with a workspace of {_SIZE} bytes")
    for size in (_SIZE, 1, _SIZE // 2, _SIZE) * _REPEATS:
        _asked(subject, size)
    if (now := _kept(subject)) > kept:
        raise Wrong(f"workspace_bytes grew from {kept} to {now} by asking again")


def _given_back(subject: Subject) -> None:
    """After `release_workspaces` nothing is kept, and whoever works goes on."""
    found, pool = subject.backend.capability(Workspaces), _pool_of(subject)
    assert found is not None
    found.release_workspaces(subject.index)
    if kept := _kept(subject):
        raise Wrong(f"{kept} bytes are kept after release_workspaces")
    dt.synchronize(subject.device)
    before = pool()
    held = _filled(subject, 5, role="held")
    found.release_workspaces(subject.index)
    other = subject.backend.empty((_SIZE,), uint8, subject.index)
    subject.backend.fill(other, 6)
    _holds(subject, held, 5, "a workspace that was given back while it was used")
    del held, other
    dt.synchronize(subject.device)
    if (left := pool() - before) > 0:
        raise Wrong(f"{left} bytes of workspaces that were given back are in use")


def _pool_of(subject: Subject) -> Callable[[], int]:
    """The bytes in use, where they are counted."""
    pool = subject.backend.capability(Pool)
    return lambda: 0 if pool is None else pool.live_bytes(subject.index)
