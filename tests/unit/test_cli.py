"""The `dovetail` command: its errors, its help, and `dovetail devices`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.support import child

from dovetail.cli import devices as devices_module
from dovetail.cli import main
from dovetail.cli.survey import Found, survey
from dovetail.errors import DeviceError

COMMANDS = (
    ["accuracy"], ["conformance"], ["devices"], ["new-backend"], ["demo"],
    ["demo", "digits"],
)  # fmt: skip
READY = """
from dovetail.device_api import DeviceInfo, hookimpl
from dovetail.device_api.meta import MetaBackend

print("printed while loading")

class Acme(MetaBackend):
    type = "emca"

    def devices(self):
        return DeviceInfo(0, "Acme One", 8 << 30), DeviceInfo(1, "Acme Two")

@hookimpl
def dovetail_backend():
    return Acme
"""
PLUGINS = {
    "emca": READY,
    "none": READY.replace("emca", "none").replace("return DeviceInfo", "return ()#"),
    "broken": "try:\n    import libbroken\nexcept ImportError as error:\n"
    "    raise RuntimeError('no driver') from error\n",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
    "quits": "import sys\nsys.exit('no licence')\n",
}


def write_plugin(folder: Path, name: str, code: str, distribution: str) -> None:
    """Install a backend of that name in `folder`, as pip would."""
    module = f"plugin_{distribution.replace('-', '_')}"
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{distribution.replace('-', '_')}-1.2.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n"
    (info / "METADATA").write_text(metadata)
    entry = f"[dovetail.backends.v1]\n{name} = {module}\n"
    (info / "entry_points.txt").write_text(entry)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    """What a survey says of good and bad plug-ins, by device."""
    folder = tmp_path_factory.mktemp("plugins")
    for name, code in PLUGINS.items():
        write_plugin(folder, name, code, f"dovetail-{name}")
    for letter in "ab":
        write_plugin(folder, "twice", READY, f"twice-{letter}")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.delenv("DOVETAIL_BACKENDS", raising=False)
        return {row.device: row for row in survey(timeout=100)}


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], list[str]]:
    """Makes a command that raises, and gives its name as arguments."""

    def make(error: BaseException) -> list[str]:
        @click.command()
        def fail() -> None:
            raise error

        monkeypatch.setitem(main.commands, "fail", fail)
        return ["fail"]

    return make


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_an_example(command: list[str]) -> None:
    """Each command's help shows how it is called."""
    result = CliRunner().invoke(main, [*command, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.stdout
    assert f"dovetail {command[0]}" in result.stdout


def test_commands_are_listed() -> None:
    """`dovetail --help` names the commands that are imported later."""
    result = CliRunner().invoke(main, ["--help"])
    assert "demo" in result.stdout
    assert "devices" in result.stdout


def test_commands_are_imported_when_called() -> None:
    """The command's entry point loads neither commands nor what they need."""
    code = (
        "import sys, dovetail.cli\n"
        "late = 'dovetail.cli.devices', 'dovetail.demos', 'matplotlib', 'rich'\n"
        "print([name for name in late if name in sys.modules])"
    )
    assert child.printed(code) == "[]"


def test_unknown_command() -> None:
    """A misspelt command is named, with exit status 2 as in other commands."""
    result = CliRunner().invoke(main, ["device"])
    assert result.exit_code == 2
    assert "device" in result.stderr


def test_our_errors_are_one_line(failing: Callable[[BaseException], list[str]]) -> None:
    """An error of our tree becomes one line on stderr and exit status 1."""
    error = DeviceError("device", "index", was="cuda:9", needed="cuda:0\nor cuda:1")
    result = CliRunner().invoke(main, failing(error))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == (
        "error: device: index is cuda:9, needed cuda:0 or cuda:1\n"
    )


def test_our_errors_are_red(failing: Callable[[BaseException], list[str]]) -> None:
    """Where there are colours, the line is red."""
    result = CliRunner().invoke(main, failing(DeviceError("a")), color=True)
    assert result.stderr.startswith("\x1b[31merror: ")


def test_root_cause_is_told(failing: Callable[[BaseException], list[str]]) -> None:
    """A cause that the message does not mention is added to the line."""
    error = DeviceError("device", was="broken")
    error.__cause__ = ImportError("libacme.so is missing")
    result = CliRunner().invoke(main, failing(error))
    assert "(because of ImportError: libacme.so is missing)" in result.stderr


def test_traceback_on_request(failing: Callable[[BaseException], list[str]]) -> None:
    """`--traceback` lets the error through."""
    result = CliRunner().invoke(main, ["--traceback", *failing(DeviceError("a"))])
    assert isinstance(result.exception, DeviceError)


def test_ctrl_c(failing: Callable[[BaseException], list[str]]) -> None:
    """Ctrl-C gives a short line and the status that shells expect."""
    result = CliRunner().invoke(main, failing(KeyboardInterrupt()))
    assert result.exit_code == 130
    assert result.stderr == "interrupted\n"


def test_ready_devices(found: dict[str, Found]) -> None:
    """Each device of a backend that loads has a row, whatever it prints."""
    row = found["emca:0"]
    assert (row.state, row.description) == ("ready", "Acme One")
    assert (row.memory_bytes, row.kernels) == (8 << 30, 0)
    assert (row.distribution, row.version) == ("dovetail-emca", "1.2")
    assert found["emca:1"].memory_bytes is None


def test_broken_backend_tells_its_root_cause(found: dict[str, Found]) -> None:
    """A backend that cannot be imported is shown with cause, file and line."""
    row = found["broken"]
    assert row.state == "unavailable"
    assert row.reason is not None
    assert row.reason.startswith("RuntimeError: no driver, from ModuleNotFoundError")
    assert "plugin_dovetail_broken.py:2" in row.reason
    assert row.errors[-1] == "ModuleNotFoundError: No module named 'libbroken'"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_killed_backend(found: dict[str, Found]) -> None:
    """A backend that takes its process down is shown with the signal."""
    row = found["killed"]
    assert row.state == "crashed"
    assert row.reason == "loading it ended the process with SIGKILL"


def test_quitting_backend(found: dict[str, Found]) -> None:
    """A backend that exits is shown with its last words."""
    row = found["quits"]
    assert row.state == "unavailable"
    assert row.reason is not None
    assert row.reason.startswith("SystemExit: no licence (")


def test_backend_without_devices(found: dict[str, Found]) -> None:
    """A backend that finds no hardware is unavailable, not ready."""
    row = found["none"]
    assert row.state == "unavailable"
    assert row.reason == "no such device in this machine"


def test_two_claims(found: dict[str, Found]) -> None:
    """Two distributions for one device type are both named, with the remedy."""
    row = found["twice"]
    assert row.state == "unavailable"
    assert row.reason is not None
    assert "twice-a" in row.reason
    assert "twice-b" in row.reason
    assert row.hint == "set DOVETAIL_BACKENDS=twice=<distribution>"


def test_known_backends_are_offered(found: dict[str, Found]) -> None:
    """A device type that nobody installed comes with what there is to install."""
    row = found["rocm"]
    assert (row.state, row.hint) == (
        "not installed",
        "pip install 'dovetail-rocm[rocm7]'",
    )


def test_chosen_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two claims, the one that DOVETAIL_BACKENDS names is ready."""
    for letter in "ab":
        write_plugin(tmp_path, "emca", READY, f"emca-{letter}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DOVETAIL_BACKENDS", "emca=emca-b")
    rows = [row for row in survey(timeout=100) if row.device.startswith("emca")]
    states = [(row.distribution, row.state) for row in rows]
    assert states == [
        ("emca-a", "not chosen"),
        ("emca-b", "ready"),
        ("emca-b", "ready"),
    ]


def test_hanging_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that does not come back is shown after the timeout."""
    write_plugin(tmp_path, "hangs", "import time\ntime.sleep(600)\n", "dovetail-hangs")
    monkeypatch.syspath_prepend(tmp_path)
    rows = {row.device: row for row in survey(timeout=0.5)}
    assert rows["hangs"].state == "timed out"


def test_devices_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table has device, state, package, memory, kernels, reason and hint."""
    rows = [
        Found(
            device="acme:0",
            state="ready",
            description="Acme [One]",
            memory_bytes=3 << 29,
            kernels=41,
            distribution="dovetail-acme",
            version="1.2",
        ),
        Found(device="cuda", state="not installed", hint="pip install dovetail-cuda"),
        Found(device="old", state="crashed", reason="SIGSEGV"),
    ]
    monkeypatch.setattr(devices_module, "survey", lambda timeout: rows)
    result = CliRunner().invoke(main, ["devices"], env={"COLUMNS": "120"})
    _, acme, cuda, old, reason = (line.split() for line in result.stdout.splitlines())
    expected = "acme:0 ready dovetail-acme 1.2 1.5 GiB 41 Acme [One]"
    assert acme == expected.split()
    assert cuda == ["cuda", "not", "installed", "pip", "install", "dovetail-cuda"]
    assert old == ["old", "crashed"]
    assert reason == ["SIGSEGV"]


@pytest.mark.parametrize("columns", ["20", "80", "300"])
def test_the_reason_is_whole(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why a backend is broken is on a line of its own, however narrow the terminal."""
    reason = "OSError: libacme.so: " + "no such file, " * 20 + "(acme/driver.py:7)"
    rows = [Found(device="acme", state="unavailable", reason=reason, hint="install it")]
    monkeypatch.setattr(devices_module, "survey", lambda timeout: rows)
    result = CliRunner().invoke(main, ["devices"], env={"COLUMNS": columns})
    assert [line.strip() for line in result.stdout.splitlines()][2:] == [
        reason,
        "install it",
    ]


def test_devices_tells_what_is_to_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a backend in the making, the table counts the kernels that are there."""
    rows = [Found(device="acme:0", state="ready", kernels=12, unwritten=18)]
    monkeypatch.setattr(devices_module, "survey", lambda timeout: rows)
    result = CliRunner().invoke(main, ["devices"], env={"COLUMNS": "120"})
    assert " ".join(result.stdout.splitlines()[1].split()) == "acme:0 ready 12 of 30"


def test_devices_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--json` prints the same facts, by name."""
    rows = [Found(device="acme:0", state="ready", memory_bytes=5)]
    monkeypatch.setattr(devices_module, "survey", lambda timeout: rows)
    result = CliRunner().invoke(main, ["devices", "--json"])
    (row,) = json.loads(result.stdout)["devices"]
    assert row == {
        "device": "acme:0",
        "state": "ready",
        "reason": None,
        "hint": None,
        "errors": [],
        "description": None,
        "memory_bytes": 5,
        "kernels": None,
        "unwritten": None,
        "distribution": None,
        "version": None,
    }


def test_this_machine_has_a_cpu() -> None:
    """The real survey finds the CPU ready."""
    result = CliRunner().invoke(main, ["devices", "--json"])
    rows = {row["device"]: row for row in json.loads(result.stdout)["devices"]}
    assert rows["cpu:0"]["state"] == "ready"
    assert rows["cpu:0"]["memory_bytes"] > 0
    assert rows["cpu:0"]["kernels"] > 0
