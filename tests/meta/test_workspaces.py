"""The law on workspaces: who keeps them apart passes, each fault is caught."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tests.meta.mutants.catalogue.capabilities import Chaotic
from tests.meta.planted import device, verdict, verdict_on

import dovetail as dt
from dovetail.conformance.verdicts import Outcome
from dovetail.device_api import KeptWorkspaces
from dovetail.dtypes import uint8
from dovetail.xp.scratch import scratch
from dovetail_fake.backend import FakeBackend

_CAUGHT = (Outcome.WRONG, Outcome.REFUSED)


class Kept(KeptWorkspaces, Chaotic):
    """On a device with streams and graphs."""


class OnThreads(KeptWorkspaces, FakeBackend):
    """On a device without streams."""


class _Keyed(Kept):
    """Workspaces by a key that leaves something out."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[Any, Any] = {}

    def key(self, index: int, role: str) -> Any:
        """What workspaces are kept by."""
        raise NotImplementedError

    def workspace(self, size: int, index: int, role: str = "") -> Any:
        key = self.key(index, role)
        found = self.made.get(key)
        if found is None or found.shape[0] < size:
            found = self.made[key] = self.empty((size,), uint8, index)
        return self._part(found, size)

    def workspace_bytes(self, index: int) -> int:
        return sum(a.shape[0] for a in self.made.values())

    def release_workspaces(self, index: int) -> None:
        self.made.clear()


class OfTheProcess(_Keyed):
    """One for all streams and threads."""

    def key(self, index: int, role: str) -> Any:
        return index, role


class OfThreadsAlone(_Keyed):
    """Two streams of a thread share it."""

    def key(self, index: int, role: str) -> Any:
        return index, role, threading.get_ident()


class OfStreamsAlone(_Keyed):
    """Two threads on a stream share it."""

    def key(self, index: int, role: str) -> Any:
        return index, role, self.current_stream(index)


class WithoutRoles(_Keyed):
    """A kernel that asks twice gets it twice."""

    def key(self, index: int, role: str) -> Any:
        return index, threading.get_ident(), self.current_stream(index)


class SharesWithGraphs(_Keyed):
    """A graph and the calls behind it work in the same memory."""

    def key(self, index: int, role: str) -> Any:
        return index, role, threading.get_ident(), self.current_stream(index)


class Uncounted(Kept):
    """Nobody says how much it is."""

    def workspace_bytes(self, index: int) -> int:
        return 0


class ForGood(Kept):
    """Nothing is given back."""

    def release_workspaces(self, index: int) -> None:
        """Not here."""


class SaysSo(ForGood):
    """It is said to be given back."""

    _released = False

    def release_workspaces(self, index: int) -> None:
        self._released = True

    def workspace_bytes(self, index: int) -> int:
        return 0 if self._released else super().workspace_bytes(index)


class Anew(Kept):
    """Each call keeps another one."""

    _calls = 0

    def workspace(self, size: int, index: int, role: str = "") -> Any:
        self._calls += 1
        return super().workspace(size, index, f"{role}{self._calls}")


@pytest.mark.parametrize("sound", [Kept, OnThreads])
def test_sound_devices_pass(sound: type[Any]) -> None:
    """With streams and without."""
    assert verdict(sound, "workspaces", "-").outcome is Outcome.PASSED


def test_the_cpu_passes_and_others_claim_nothing() -> None:
    """Its kernels have workspaces of each thread."""
    assert verdict_on("cpu", "workspaces", "-").outcome is Outcome.PASSED
    assert verdict(FakeBackend, "workspaces", "-").outcome is Outcome.UNCLAIMED


@pytest.mark.parametrize(
    "fault",
    [
        OfTheProcess, OfThreadsAlone, OfStreamsAlone, WithoutRoles, SharesWithGraphs,
        Uncounted, ForGood, SaysSo, Anew,
    ],
)  # fmt: skip
def test_faults_are_caught(fault: type[Any]) -> None:
    """The law calls each of them wrong, or the chaos device sees two at one memory."""
    assert verdict(fault, "workspaces", "-").outcome in _CAUGHT


def test_users_see_what_is_kept_and_give_it_back() -> None:
    """`memory_stats` counts it, `empty_cache` lets it go, and results stay right."""
    name = "workspace_bytes.all.current"
    held = scratch(np, np.ones(1), "test", 1000, np.dtype("float32"))
    held[:] = 7
    assert dt.accelerator.memory_stats("cpu")[name] >= 4000
    dt.accelerator.empty_cache("cpu")
    assert dt.accelerator.memory_stats("cpu")[name] == 0
    assert (held == 7).all()
    with device(Kept) as there:
        backend = dt.ones(1, device=there)._kind.backend
        backend.workspace(100, 0)
        assert dt.accelerator.memory_stats(there)[name] == 100
        dt.accelerator.empty_cache(there)
        assert dt.accelerator.memory_stats(there)[name] == 0
