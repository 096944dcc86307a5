"""The worker, its supervisor and the watchdog, on devices that fail in every way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dovetail.conformance.run import RunRecord
from dovetail.conformance.runner.journal import NO_EXAMPLE, Journal
from dovetail.conformance.runner.lane import FLAKY, Lane
from dovetail.conformance.runner.process import Settings
from dovetail.conformance.runner.supervisor import Supervisor, Wanted
from dovetail.conformance.verdicts import Check, Outcome, Verdict
from dovetail.errors import DeviceError

SETUP = ("tests.meta.broken_device",)
BROKEN = Settings("broken", SETUP)


@pytest.fixture(scope="module")
def lane() -> Iterator[Lane]:
    """Workers on the broken device, as many as they need."""
    made = Lane(BROKEN, "quick")
    yield made
    made.close()


def forward(lane: Lane, op: str) -> Verdict:
    """The verdict on an op's results."""
    return lane.verdict(Check(op, "float32", "forward"))


@pytest.mark.parametrize(
    ("op", "outcome", "words", "printed"),
    [
        ("relu", Outcome.CRASHED, "exit status 3", "the device is on fire"),
        ("abs", Outcome.CRASHED, "SIGSEGV", "in fault"),
        ("trunc", Outcome.OUT_OF_MEMORY, "SIGKILL", ""),
    ],
)
def test_a_death_is_a_verdict(
    lane: Lane, op: str, outcome: Outcome, words: str, printed: str
) -> None:
    """What ends the process is named, with its example and what it said last.

    All other examples are judged.
    """
    verdict = forward(lane, op)
    assert verdict.outcome is outcome
    assert verdict.note == ""
    death, *more = verdict.failures
    assert words in death.message
    assert "float32[]" in death.example
    assert printed in death.traceback
    assert "rerun.example" in death.script
    assert verdict.failing == tuple(d.index for d in (death, *more))
    assert verdict.examples > 5
    assert Outcome.PASSED in verdict.layouts.values()


def test_a_hang_is_a_verdict() -> None:
    """No sign of life ends the worker; the place of the hang is told."""
    hanging = Lane(Settings("broken", SETUP, patience=8), "quick")
    try:
        verdict = forward(hanging, "floor")
    finally:
        hanging.close()
    assert verdict.outcome is Outcome.HUNG
    assert "no answer for 8 s" in verdict.failures[0].message
    assert "in hang" in verdict.failures[0].traceback


def test_a_memory_error_is_a_verdict(lane: Lane) -> None:
    """An allocator that gives up is told apart from a refusal."""
    assert forward(lane, "ceil").outcome is Outcome.OUT_OF_MEMORY


def test_what_is_unwritten_is_to_do(lane: Lane) -> None:
    """Unwritten is work to do, with its place, and is not run twice."""
    starts = lane.starts
    verdict = forward(lane, "sigmoid")
    assert verdict.outcome is Outcome.TODO
    assert "(broken_device.py:" in verdict.failures[0].message
    assert lane.starts <= starts + 1


def test_prints_do_not_disturb(lane: Lane) -> None:
    """A kernel that prints what looks like answers, is judged like any other."""
    assert forward(lane, "sign").outcome is Outcome.PASSED


def test_failures_are_seen_twice(lane: Lane) -> None:
    """A wrong kernel is wrong in a clean worker, too."""
    forward(lane, "sign")
    starts = lane.starts
    verdict = forward(lane, "silu")
    assert (verdict.outcome, verdict.note) == (Outcome.WRONG, "")
    assert lane.starts == starts + 1


def test_a_flake_is_told(lane: Lane) -> None:
    """What passes alone after it failed is wrong, and said to be irreproducible."""
    forward(lane, "exp")
    verdict = forward(lane, "neg")
    assert (verdict.outcome, verdict.note) == (Outcome.WRONG, FLAKY)


def test_the_kits_own_errors_are_told_apart(lane: Lane) -> None:
    """An exception outside of all judging is no verdict on the device."""
    verdict = lane.verdict(Check("relu", "float32", "no such law"))
    assert verdict.outcome is Outcome.UNTESTED
    assert "the kit failed, not the device" in verdict.note


def test_ops_that_kill_are_left_alone() -> None:
    """After three checks with deaths an op's other checks are not tried."""
    deadly = Lane(BROKEN, "quick", reruns=False)
    try:
        found = [forward(deadly, "relu") for _ in range(4)]
    finally:
        deadly.close()
    assert [v.outcome for v in found] == [Outcome.CRASHED] * 3 + [Outcome.UNTESTED]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings("cpu", ("tests.meta.dies_at_start",)), "driver version mismatch"),
        (Settings("cpu", ("tests.meta.no_such_module",)), "no_such_module"),
        (Settings("nosuch:0"), "no backend is installed"),
        (Settings("cpu:7"), "cpu:7"),
    ],
)
def test_a_device_that_does_not_load(settings: Settings, words: str) -> None:
    """One message says that the device cannot be used, and why."""
    lane = Lane(settings, "quick")
    with pytest.raises(DeviceError, match=words):
        lane.open()
    lane.close()


def test_the_first_laws_stop_the_run() -> None:
    """Where memory cannot be read, nothing else is tried, and one message says so."""
    wanted = Wanted(settings=Settings("mute", SETUP), ops="device,add", laws="*copy*")
    with Supervisor(wanted) as supervisor:
        verdicts = list(supervisor.run())
        record = supervisor.record()
    assert [v.outcome for v in verdicts] == [Outcome.TODO]
    assert record.stopped.startswith("STOP copy_out: copy_out (broken_dev")
    assert "Unlocks" in record.stopped
    assert record.verdicts[0] == verdicts[0]
    assert {v.outcome for v in record.verdicts[1:]} == {Outcome.UNTESTED}


@pytest.mark.parametrize("jobs", [1, 2])
def test_memory_that_is_wrong_in_a_dtype_ends_that_dtype(jobs: int) -> None:
    """A wrong view leaves its dtype untried; a wrong fill leaves everything tried."""
    wanted = Wanted(
        settings=Settings("half", SETUP), ops="device,add", jobs=jobs, reruns=False,
        laws="view,fill,forward",
    )  # fmt: skip
    with Supervisor(wanted) as supervisor:
        seen = list(supervisor.run())
        record = supervisor.record()
    assert record.stopped == ""
    assert {v.check for v in seen} == {v.check for v in record.verdicts}
    found = {v.check.id: v for v in record.verdicts}
    assert found["device/float64/view"].outcome is Outcome.WRONG
    assert found["device/int64/fill"].outcome is Outcome.WRONG
    unmade = {name for name, v in found.items() if not v.tried}
    assert unmade == {"device/float64/fill", "add/float64/forward"}
    assert found["add/float64/forward"].note == "not run: device/float64/view failed"
    assert found["add/int64/forward"].outcome is Outcome.PASSED


def test_jobs_change_nothing() -> None:
    """Two workers come to the verdicts of one, in the order of the plan."""
    runs = []
    for jobs in (1, 2):
        wanted = Wanted(
            settings=BROKEN, ops="add,relu,sigmoid,silu", laws="forward", jobs=jobs,
            reruns=False,
        )  # fmt: skip
        with Supervisor(wanted) as supervisor:
            list(supervisor.run())
            runs.append(supervisor.record())
    one, two = runs
    assert [v.check for v in one.verdicts] == [v.check for v in two.verdicts]
    assert one.moved(two) == []
    assert {v.outcome for v in one.verdicts} == {
        Outcome.PASSED, Outcome.CRASHED, Outcome.TODO, Outcome.WRONG,
    }  # fmt: skip
    assert RunRecord.from_json(json.loads(json.dumps(one.to_json()))) == one
    assert one.about.subnormals["float32"] in ("kept", "flushed")


def test_a_run_that_differs_is_noticed() -> None:
    """Runs are compared by what they found, not by how long it took."""
    with Supervisor(Wanted(settings=Settings("cpu"), ops="relu", laws="forward")) as s:
        list(s.run())
        first, again = s.record(), s.record()
    assert first.moved(again) == []
    other = RunRecord.from_json(first.to_json() | {"verdicts": []})
    assert first.moved(other) == [v.check.id for v in first.verdicts]


def test_the_journal_outlives_its_writer(tmp_path: Path) -> None:
    """A second reader of the file sees the last note, cut to fit."""
    path = tmp_path / "journal"
    with closing(Journal(path)) as written, closing(Journal(path)) as reader:
        written.note("add/float32/forward", 3, "é" * 5000)
        found = reader.read()
        assert (found.moves, found.check, found.number) == (1, "add/float32/forward", 3)
        assert found.label.startswith("é" * 1000)
        written.note("next")
        assert reader.read().number == NO_EXAMPLE
