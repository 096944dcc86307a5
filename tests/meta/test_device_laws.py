"""Laws on the device as a whole: sound devices pass, each planted fault is caught."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tests.meta import planted
from tests.meta.mutants.catalogue import capabilities, devices, memory, pools
from tests.meta.mutants.catalogue.transfers import TRANSFERS
from tests.meta.mutants.mutant import Mutant
from tests.meta.planted import verdict, verdict_on, with_kernel

import dovetail as dt
from dovetail import dtypes
from dovetail.conformance import plan, probes
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.judge import judge
from dovetail.conformance.law import Wrong
from dovetail.conformance.laws import exchange
from dovetail.conformance.laws.threads import together
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check, Outcome
from dovetail.engine.generator import Generator
from dovetail.engine.tensor import Tensor
from dovetail.testing.chaos_device import backend as chaos_device

QUICK = BUDGETS["quick"]
# Judged alone: those are slow, and have tests of their own.
_SLOW = {"machine"}
_DTYPES = {"-", "float32", "int32", "bool", "bfloat16"}


@pytest.mark.parametrize("name", ["fake", "chaos:cpu"])
def test_sound_devices_obey_every_law(name: str) -> None:
    """No law finds fault with a device that keeps to the contract.

    The CPU and the reference are asked where the vocabulary is.
    """
    subject = Subject(name)
    for check in plan.plan(subject, QUICK, ops="device"):
        if check.dtype in _DTYPES and check.law not in _SLOW:
            found = verdict_on(name, check.law, check.dtype)
            told = [f.message for f in found.failures]
            assert found.outcome in (Outcome.PASSED, Outcome.UNCLAIMED), (check, told)


@pytest.mark.parametrize(
    ("law", "fault"),
    [
        ("copy_out", memory.ReadsLater),
        ("copy_out", memory.GivesItsOwn),
        ("copy_out", planted.Canonical),
        ("copy_out", planted.LosesTail),
        ("copy_out", planted.SeesFirstSign),
        ("empty", memory.OneBuffer),
        ("empty", memory.Fortran),
        ("view", memory.NoOffset),
        ("view", memory.Packed),
        ("view", planted.Contiguous),
        ("view", memory.FreesTooSoon),
        ("copy", memory.ViewIsCopy),
        ("copy", memory.NoSnapshot),
        ("copy", planted.WritesBeside),
        ("fill", memory.ViewIsCopy),
        ("fill", planted.FillsContiguous),
        ("fill", planted.NoNegativeZero),
        ("subnormals", with_kernel("add", planted.flushes)),
        ("subnormals", with_kernel("sum", planted.flushes)),
        ("random", with_kernel("bitwise_xor", planted.short_tail)),
        ("dlpack", capabilities.CopiesOnImport),
        ("dlpack", capabilities.CopiesOnExport),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_faults_in_a_dtype_are_caught(law: str, fault: type[Any]) -> None:
    """A law in a dtype calls the planted fault wrong."""
    found = verdict(fault, law)
    assert found.outcome is Outcome.WRONG, found.outcome
    assert found.failures[0].message


@pytest.mark.parametrize(
    ("law", "fault"),
    [
        ("devices", planted.NoInt32),
        ("devices", devices.Nameless),
        ("devices", devices.Twice),
        ("synchronize", devices.Answers),
        ("threads", with_kernel("add", planted.shares)),
        ("replay", with_kernel("exp", planted.drifts)),
        ("memory", with_kernel("add", planted.keeps)),
        ("memory", planted.NeverFrees),
        ("memory", planted.ForgetsThePeak),
        ("memory", planted.CountsNoResults),
        ("memory", planted.KeepsThePeak),
        ("memory", planted.KnowsNoLimit),
        ("memory", planted.PeakFromZero),
        ("memory", planted.LimitsThePeak),
        ("memory", planted.KeepsWhatIsStrided),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_faults_of_the_device_are_caught(law: str, fault: type[Any]) -> None:
    """A law on the device as a whole calls the planted fault wrong."""
    assert verdict(fault, law, "-").outcome is Outcome.WRONG


def test_threads_that_wait_for_each_other_are_found_out() -> None:
    """A deadlock is said after some seconds, and does not stop the run."""
    never = threading.Event()
    with pytest.raises(Wrong, match="1 of 2 threads have not returned after 0 s"):
        together([lambda: None, never.wait], 0.2)
    never.set()


def test_a_device_that_counts_its_memory_passes() -> None:
    """Honest counts are no leak."""
    assert verdict(planted.Counted, "memory", "-").outcome is Outcome.PASSED


def test_a_declared_flush_has_to_be_true() -> None:
    """Declaring what does not happen is wrong, and so is keeping quiet about it."""

    class Pretends(planted.Sound):
        flushes_subnormals = frozenset({dtypes.float32})

    class Honest(with_kernel("add", planted.flushes)):  # type: ignore[misc]
        flushes_subnormals = frozenset({dtypes.float32})

    assert verdict(Pretends, "subnormals").outcome is Outcome.WRONG
    assert verdict(Honest, "subnormals").outcome is Outcome.PASSED
    with planted.device(Honest) as name:
        assert probes.subnormals(Subject(name))["float32"] == probes.FLUSHED


def test_flushed_values_lose_only_subnormals() -> None:
    """`flushed` keeps signs, NaN, infinities and the smallest normal number."""
    tiny = np.finfo(np.float32).smallest_normal
    a = np.array([tiny / 2, -tiny / 2, tiny, -0.0, np.inf, np.nan, 1], np.float32)
    got = probes.flushed(a, dtypes.float32)
    want = np.array([0.0, -0.0, tiny, -0.0, np.inf, np.nan, 1], np.float32)
    assert got.tobytes() == want.tobytes()


# ---- what sits between a backend and its user


def test_a_generator_that_counts_launches_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The place in the stream moves by elements, not by blocks of threads."""
    sound = Generator.spend

    def by_blocks(self: Generator, words: int, align: int, make: Any) -> Any:
        return sound(self, -(-words // 256) * 256, align, make)

    monkeypatch.setattr(Generator, "spend", by_blocks)
    assert verdict_on("cpu", "generator", "-").outcome is Outcome.WRONG


def test_a_refused_draw_that_moves_the_generator_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is refused takes nothing from the stream."""
    sound = dt.rand

    def eager(*size: Any, generator: Any = None, **kw: Any) -> Tensor:
        if generator is not None:
            start = generator.offset
            generator.reserve(1)
            made = sound(*size, generator=None, **kw)
            generator._set(generator.initial_seed(), start)
            made = sound(*size, generator=generator, **kw)
        return made

    monkeypatch.setattr(dt, "rand", eager)
    found = verdict_on("cpu", "generator", "-")
    assert found.outcome is Outcome.WRONG
    assert "refused but took" in found.failures[0].message


def test_pickles_that_forget_sharing_or_strides_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two views of one memory stay so."""
    sound = Tensor.__reduce_ex__

    def alone(self: Tensor, protocol: Any) -> Any:
        return sound(self.detach().clone(), protocol)

    monkeypatch.setattr(Tensor, "__reduce_ex__", alone)
    assert verdict_on("cpu", "pickling", "int32").outcome is Outcome.WRONG


def test_files_that_forget_sharing_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """So they do in files."""
    sound = exchange.io.load

    def alone(*args: Any, **kw: Any) -> Any:
        loaded = sound(*args, **kw)
        loaded["rows"] = loaded["rows"].clone()
        return loaded

    monkeypatch.setattr(exchange.io, "load", alone)
    assert verdict_on("cpu", "files").outcome is Outcome.WRONG


def test_a_move_that_forgets_the_layout_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bits move by index, not by address."""
    sound = Tensor.to

    def by_address(self: Tensor, *args: Any, **kw: Any) -> Any:
        strides, _ = self._kind.backend.geometry(self._a, self._a)
        if self.ndim == 3 and tuple(strides) == (1, 3, 12):
            self = self.permute(2, 1, 0).reshape(tuple(self.shape))
        return sound(self, *args, **kw)

    monkeypatch.setattr(Tensor, "to", by_address)
    assert verdict_on("cpu", "transfer").outcome is Outcome.WRONG


def test_an_error_that_writes_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused call leaves its tensor alone."""
    sound = Tensor.add_

    def hasty(self: Tensor, other: Any) -> Any:
        if isinstance(other, Tensor) and other.ndim > self.ndim:
            self.fill_(0)
        return sound(self, other)

    monkeypatch.setattr(Tensor, "add_", hasty)
    found = verdict_on("cpu", "errors", "-")
    assert found.outcome in (Outcome.WRONG, Outcome.PASSED)


# ---- streams


@pytest.mark.parametrize("method", ["wait_event", "record_event"])
def test_a_lost_order_between_streams_is_caught(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that does not wait reads what is not there yet."""
    monkeypatch.setattr(chaos_device.ChaosBackend, method, lambda *_: None)
    found = verdict_on("chaos:cpu", "streams", "-")
    assert found.outcome not in (Outcome.PASSED, Outcome.UNCLAIMED)


def test_time_that_runs_backwards_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Milliseconds between events are not negative."""
    monkeypatch.setattr(chaos_device.ChaosBackend, "elapsed_ms", lambda *_: -1.0)
    assert verdict_on("chaos:cpu", "streams", "-").outcome is Outcome.WRONG


@pytest.mark.parametrize("law", ["dropped", "streams"])
def test_a_pool_that_waits_for_its_streams_passes(law: str) -> None:
    """Memory may be given out again as soon as the work on it is done."""
    assert verdict(pools.Pooled, law, "-").outcome is Outcome.PASSED


def test_a_block_that_is_given_out_too_soon_is_caught() -> None:
    """Work on other streams than the one that asks is due on it."""
    assert verdict(pools.OwnStreamAlone, "streams", "-").outcome is Outcome.PASSED
    assert verdict(pools.OwnStreamAlone, "dropped", "-").outcome is Outcome.WRONG


@pytest.mark.parametrize("name", ["fills-by-address", "fills-draw-twice"])
def test_fills_that_heed_the_layout_are_caught(name: str) -> None:
    """The numbers of a tensor and the place of the generator go by index."""
    (mutant,) = (m for m in pools.POOLS if m.name == f"pools/{name}")
    with mutant.planted() as device:
        assert verdict_on(device, "fills").outcome is Outcome.WRONG
        assert verdict_on(device, "random").outcome is Outcome.PASSED
        assert verdict_on(device, "generator", "-").outcome is Outcome.PASSED


@pytest.mark.parametrize("mutant", TRANSFERS, ids=lambda m: m.name)
def test_a_kernel_on_the_host_is_caught(mutant: Mutant) -> None:
    """Data that a kernel copies is seen, and no other law minds."""
    with mutant.planted() as device:
        checks = plan.plan(Subject(device), QUICK, ops="exp")
        failing = {c.law for c in checks if not _passes(device, c)}
    assert failing == {"transfers"}


def _passes(device: str, check: Check) -> bool:
    found = judge(Subject(device), check, QUICK).outcome
    return check.dtype != "float32" or found is Outcome.PASSED


def test_where_memory_is_the_hosts_there_are_no_transfers() -> None:
    """The law is in the plan of a device with memory of its own, and in no other."""
    for name, applies in (("cpu", False), ("fake", True)):
        found = plan.plan(Subject(name), QUICK, ops="exp", laws="transfers")
        assert bool(found) is applies
