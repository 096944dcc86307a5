"""`dovetail conformance`: what it prints, what it writes, and its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.support import child

from dovetail.cli.app import main

SETUP = "tests.meta.broken_device"
ROOT = Path(__file__).resolve().parents[2]
QUICK = ("--ops", "trunc_divide", "--laws", "forward")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reproductions are written to the current folder."""
    monkeypatch.chdir(tmp_path)


def conformance(*arguments: str) -> Result:
    """The command, run in this process; devices are in theirs."""
    return CliRunner().invoke(main, ["conformance", *arguments])


def broken(*arguments: str) -> Result:
    """The command on the broken device."""
    return conformance("--device", "broken", "--setup", SETUP, *arguments)


def test_a_sound_device_passes(tmp_path: Path) -> None:
    """Exit status 0, and the files that were asked for."""
    files = {n: tmp_path / f"report.{n}" for n in ("json", "html", "junit")}
    options = [part for n, path in files.items() for part in (f"--{n}", str(path))]
    result = conformance("--device", "cpu", *QUICK, *options)
    assert result.exit_code == 0, result.output
    assert all(path.stat().st_size for path in files.values())
    verdicts = json.loads(files["json"].read_text())["verdicts"]
    assert {v["check"]["op"] for v in verdicts} == {"trunc_divide"}
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {path.name for path in files.values()}


def test_a_broken_device_fails(tmp_path: Path) -> None:
    """Exit status 1, the failure named, and a script that shows it."""
    result = broken("--ops", "silu", "--laws", "forward", "--no-rerun")
    assert result.exit_code == 1
    assert "FAIL silu/float32/forward: wrong" in result.output
    script = tmp_path / "repros" / "repro_silu_float32_forward.py"
    path = [ROOT, *map(Path, filter(None, sys.path))]
    shown = child.python(script, path=path, status=1, DOVETAIL_CONFORMANCE_SETUP=SETUP)
    assert "FAILS" in shown.stderr


def test_next_is_one_thing() -> None:
    """`--next` stops at the first thing to do, and says what it must do."""
    result = broken("--next", "--ops", "sigmoid,silu,relu", "--laws", "forward")
    assert result.exit_code == 1
    assert result.output.count("NEXT") == 1
    assert "must do" in result.output
    assert "unlocks" in result.output


def test_repeated_runs_agree() -> None:
    """`--repeat` compares the verdicts of several runs."""
    result = conformance("--device", "cpu", *QUICK, "--repeat", "2")
    assert result.exit_code == 0, result.output
    assert "2 runs, 0 checks with differing verdicts" in result.output


def test_repeated_runs_that_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that is wrong in every other process is found to be flaky."""
    counter = tmp_path / "counter"
    counter.write_text("")
    monkeypatch.setenv("BROKEN_COUNTER", str(counter))
    wanted = ("--ops", "square", "--laws", "forward", "--repeat", "2")
    result = broken(*wanted)
    assert result.exit_code == 1
    assert "FLAKY square/float32/forward" in result.output
    assert "not reproducible: passed when rerun alone" in result.output


def test_a_certificate_is_replayed(tmp_path: Path) -> None:
    """`--replay` runs what a certificate pins and finds the same."""
    path = str(tmp_path / "certificate.json")
    conformance("--device", "cpu", *QUICK, "--certificate", path)
    result = conformance("--replay", path)
    assert result.exit_code == 0, result.output
    assert "the same verdicts" in result.output


def test_two_reports_are_compared(tmp_path: Path) -> None:
    """`--compare` needs no device, and fails where something got worse."""
    good, bad = str(tmp_path / "good.json"), str(tmp_path / "bad.json")
    wanted = ("--ops", "silu", "--laws", "forward", "--no-rerun")
    conformance("--device", "cpu", *wanted, "--json", good)
    broken(*wanted, "--json", bad)
    result = conformance("--compare", good, bad)
    assert result.exit_code == 1
    assert "silu/float32/forward" in result.output
    assert conformance("--compare", good, good).exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--device", "cpu", "--budget", "endless"),
        ("--device", "cpu", "--ops", "no_such_op"),
        ("--device", "cpu", "--level", "9"),
    ],
)
def test_a_wrong_call(arguments: tuple[str, ...]) -> None:
    """A call that makes no sense has exit status 2."""
    assert conformance(*arguments).exit_code == 2


def test_a_device_that_does_not_load() -> None:
    """One line tells why, and what to do."""
    result = conformance("--device", "nosuch:0")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: conformance: nosuch:0 is not to be used")
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_leaves_a_report(tmp_path: Path) -> None:
    """The worker ends, what was found is written, and the exit status is 130."""
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "dovetail", "conformance", "--device", "broken"]
    command += ["--setup", SETUP, "--ops", "add,floor", "--laws", "forward"]
    command += ["--json", str(report)]
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    # Run in the background of a shell, tests are deaf to it, and so are their children.
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    running = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    signal.signal(signal.SIGINT, ours)
    with running:
        assert running.stdout is not None
        assert "checks" in running.stdout.readline()
        time.sleep(1)  # it comes to a kernel that hangs, or is before it
        running.send_signal(signal.SIGINT)
        rest = running.stdout.read()
        assert running.wait(30) == 130, rest
    found = json.loads(report.read_text())
    assert found["run"]["interrupted"]
    assert "untested" in {v["outcome"] for v in found["verdicts"]}
