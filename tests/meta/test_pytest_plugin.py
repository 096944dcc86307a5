"""`pytest --pyargs dovetail.conformance`, and that its plug-in harms nobody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support import child

ROOT = Path(__file__).resolve().parents[2]
STRICT = """
[pytest]
filterwarnings = error
xfail_strict = true
addopts = --strict-markers --strict-config
"""


def run_pytest(folder: Path, *arguments: str, path: Path = ROOT) -> tuple[int, str]:
    """Exit status and output of pytest in an unrelated folder with strict settings."""
    (folder / "pytest.ini").write_text(STRICT)
    command = ("-P", "-m", "pytest", "-p", "no:cacheprovider", *arguments)
    done = child.python(*command, cwd=folder, path=[path], status=None, limit=300)
    return done.returncode, done.stdout + done.stderr


def test_the_plugin_imports_nothing_of_dovetail() -> None:
    """The module that pytest loads everywhere brings its options and no more."""
    code = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        "import dovetail_pytest\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    assert child.printed(code) == "dovetail_pytest"


def test_a_broken_dovetail_breaks_no_tests(tmp_path: Path) -> None:
    """Where `import dovetail` raises, other tests run as if it was not there."""
    broken = tmp_path / "broken" / "dovetail"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('broken')")
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_users.py").write_text(
        "import pytest\n"
        "def test_imports():\n"
        "    with pytest.raises(ImportError, match='broken'):\n"
        "        import dovetail\n"
    )
    status, output = run_pytest(tests, path=broken.parent)
    assert status == 0, output
    assert "dovetail" in output  # the plug-in is loaded all the same


def test_the_suite_asks_for_a_device(tmp_path: Path) -> None:
    """Without a device the call is wrong, and says what is missing."""
    status, output = run_pytest(tmp_path, "--pyargs", "dovetail.conformance")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "--dovetail-device" in output


def test_a_device_that_does_not_load(tmp_path: Path) -> None:
    """The reason is told in one line, without a traceback."""
    suite = ("--pyargs", "dovetail.conformance", "--dovetail-device=nosuch:0")
    status, output = run_pytest(tmp_path, *suite)
    assert status != 0
    assert "nosuch:0 is not to be used" in output
    assert "Traceback" not in output


def test_an_interrupted_session_proves_nothing(tmp_path: Path) -> None:
    """After Ctrl-C there is a report of what was found, and no certificate."""
    report, certificate = tmp_path / "report.json", tmp_path / "certificate.json"
    (tmp_path / "conftest.py").write_text(
        "def pytest_runtest_teardown(item, nextitem):\n    raise KeyboardInterrupt\n"
    )
    status, output = run_pytest(
        tmp_path, "--pyargs", "dovetail.conformance", "-p", "no:xdist",
        "-p", "conftest",
        "--dovetail-device=cpu", "--dovetail-ops=add", "--dovetail-laws=forward",
        f"--dovetail-json={report}", f"--dovetail-certificate={certificate}",
        path=tmp_path,
    )  # fmt: skip
    assert status == pytest.ExitCode.INTERRUPTED, output
    assert json.loads(report.read_text())["run"]["interrupted"]
    assert not certificate.exists()


def test_an_item_for_each_check(tmp_path: Path) -> None:
    """Items pass, fail in a few lines with a reproduction, and bear checks' names."""
    report = tmp_path / "report.json"
    status, output = run_pytest(
        tmp_path, "--pyargs", "dovetail.conformance", "-v", "-p", "no:xdist",
        "--dovetail-device=broken", "--dovetail-setup=tests.meta.broken_device",
        "--dovetail-ops=add,silu,relu", "--dovetail-laws=forward",
        "--dovetail-seed=2", f"--dovetail-json={report}", "-k", "float32",
    )  # fmt: skip
    assert status == 1, output
    assert "3 selected" in output
    assert "[add/float32/forward] PASSED" in output
    assert "[silu/float32/forward] FAILED" in output
    assert (
        "relu/float32/forward: crashed: the process ended with exit status 3" in output
    )
    assert "reproduce  python repros/repro_broken_0_silu_float32_forward.py" in output
    assert "Traceback" not in output
    assert "1 passed" in output
    assert json.loads(report.read_text())["run"]["seed"] == 2
    assert (tmp_path / "repros" / "repro_broken_0_silu_float32_forward.py").exists()
