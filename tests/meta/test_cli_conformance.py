"""`dovetail conformance`: what it prints, what it writes, and its exit status."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.support import child

from dovetail.cli.app import main

SETUP = "tests.meta.broken_device"
ROOT = Path(__file__).resolve().parents[2]
QUICK = ("--ops", "silu", "--laws", "forward")
SEED = 3


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


@dataclass(frozen=True)
class Run:
    """What a run of one op printed, and the folder with all that it wrote."""

    result: Result
    folder: Path


def run_in(folder: Path, *arguments: str) -> Run:
    """A run whose reports, and whatever else it writes, are in a folder."""
    for name in ("json", "html", "junit", "certificate"):
        arguments += f"--{name}", str(folder / f"report.{name}")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return Run(conformance(*arguments, *QUICK, "--seed", str(SEED)), folder)


@pytest.fixture(scope="module")
def sound_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One op of the CPU."""
    return run_in(tmp_path_factory.mktemp("sound"), "--device", "cpu")


@pytest.fixture(scope="module")
def broken_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same op of the broken device, where it is wrong."""
    folder = tmp_path_factory.mktemp("broken")
    return run_in(folder, "--device", "broken", "--setup", SETUP, "--no-rerun")


def test_a_sound_device_passes(sound_run: Run) -> None:
    """Exit status 0, and the files that were asked for."""
    assert sound_run.result.exit_code == 0, sound_run.result.output
    files = {path.name: path for path in sound_run.folder.iterdir()}
    assert files.keys() == {
        "report.json", "report.html", "report.junit", "report.certificate",
    }  # fmt: skip
    assert all(path.stat().st_size for path in files.values())
    verdicts = json.loads(files["report.json"].read_text())["verdicts"]
    assert {v["check"]["op"] for v in verdicts} == {"silu"}


def test_a_broken_device_fails(broken_run: Run) -> None:
    """Exit status 1, the failure named, and a script that shows it."""
    result = broken_run.result
    assert result.exit_code == 1
    assert result.output.count("FAIL  silu/float32/forward  wrong") == 1
    repros = broken_run.folder / "repros"
    script = repros / "repro_broken_0_silu_float32_forward.py"
    path = [ROOT, *map(Path, filter(None, sys.path))]
    shown = child.python(script, path=path, status=1)
    assert "FAILS" in shown.stderr


def test_lines_are_whole_in_a_pipe(broken_run: Run) -> None:
    """Where nobody looks at a terminal, a line is as long as what it tells."""
    lines = broken_run.result.output.splitlines()
    (line,) = [x for x in lines if x.startswith("FAIL  silu/floa")]
    assert line.endswith("ulp, allowed 1.25")
    assert len(line) > 80
    assert not any(x.endswith(" ") for x in lines)


def test_a_script_finds_the_module_that_brings_its_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module in the folder of the run is found there, from any folder."""
    (tmp_path / "brings_it.py").write_text(f"import {SETUP}\n")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    result = conformance(
        "--device", "broken", "--setup", "brings_it", "--ops", "silu", "--laws",
        "forward", "--no-rerun",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    (script,) = (tmp_path / "repros").glob("*silu_float32*")
    path = [ROOT, *map(Path, filter(None, sys.path))]
    shown = child.python(script, path=path, cwd=ROOT, status=1)
    assert "FAILS" in shown.stderr


@pytest.fixture(scope="module")
def next_thing(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """What to do first on a device that has not passed anything."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("next"))
        return broken("--next", "--ops", "sigmoid,silu,relu", "--laws", "forward")


def test_next_is_one_thing(next_thing: Result) -> None:
    """`--next` stops at the first thing to do, and says what it must do."""
    result = next_thing
    assert result.exit_code == 1
    assert result.output.count("NEXT") == 1
    assert "must do" in result.output
    assert "unlocks" in result.output


def test_next_says_what_is_proven(next_thing: Result) -> None:
    """It counts what passed, of what, and names it; nothing passed is said."""
    found = broken("--next", "--ops", "sign,silu", "--laws", "forward")
    assert re.search(r"\d of \d checks passed: sign, in ", found.output)
    assert re.search(r"none of \d+ checks has passed yet, in ", next_thing.output)


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


def test_a_certificate_is_replayed(sound_run: Run) -> None:
    """`--replay` runs what a certificate pins, draws the same, and finds the same."""
    result = conformance("--replay", str(sound_run.folder / "report.certificate"))
    found = json.loads((sound_run.folder / "report.json").read_text())
    assert found["run"]["seed"] == SEED
    assert f"seed {SEED}" in result.output
    assert result.exit_code == 0, result.output
    assert "the same verdicts" in result.output


def test_two_reports_are_compared(sound_run: Run, broken_run: Run) -> None:
    """`--compare` needs no device, and fails where something got worse."""
    good, bad = (str(run.folder / "report.json") for run in (sound_run, broken_run))
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


WAIVED = """
[[waiver]]
op = "silu"
dtype = "float32"
law = "forward"
expected = "failure"
reason = "this device is broken"
issue = "https://example.com/issues/1"
expires = 2999-12-31
example = {examples}
"""


def test_a_certificate_brings_its_waivers(tmp_path: Path, broken_run: Run) -> None:
    """What was excused where a certificate was made is excused where it is replayed."""
    wanted, path = (*QUICK, "--no-rerun", "--seed", str(SEED)), tmp_path / "made.json"
    verdicts = json.loads((broken_run.folder / "report.json").read_text())["verdicts"]
    (failing,) = [v["failing"] for v in verdicts if v["outcome"] == "wrong"]
    waivers = tmp_path / "known.toml"
    waivers.write_text(WAIVED.format(examples=failing))
    made = broken(*wanted, "--waivers", str(waivers), "--certificate", str(path))
    assert "1 waived" in made.output, made.output
    assert "silu/float32/forward" not in made.output  # told as it comes, it is excused
    waivers.unlink()
    again = conformance("--replay", str(path), "--setup", SETUP, "--no-rerun")
    assert again.exit_code == 0, again.output
    assert "the same verdicts" in again.output


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_whoever_ends_a_run_gets_its_report(
    tmp_path: Path, sent: signal.Signals, status: int
) -> None:
    """The worker ends, what was found is written; nothing says what was proven."""
    report = tmp_path / "report.json"
    proofs = tmp_path / "certificate.json", tmp_path / "badge.svg"
    command = [sys.executable, "-m", "dovetail", "conformance", "--device", "broken"]
    command += ["--setup", SETUP, "--ops", "add,floor", "--laws", "forward"]
    command += ["--json", str(report)]
    command += ["--certificate", str(proofs[0]), "--badge", str(proofs[1])]
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
        running.send_signal(sent)
        rest = running.stdout.read()
        assert running.wait(30) == status, rest
    for proof in proofs:
        assert not proof.exists()
        assert f"did not write {proof}: the run was interrupted" in rest
    found = json.loads(report.read_text())
    assert found["run"]["interrupted"]
    assert "untested" in {v["outcome"] for v in found["verdicts"]}
