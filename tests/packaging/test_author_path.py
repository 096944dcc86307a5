"""The first hour of a backend's author, as a new user has it: from pip to level 0."""

from __future__ import annotations

import ast
import json
import shutil
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support import child

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = ROOT / "tests" / "support" / "acme"
MOST_FUNCTIONS, MOST_LINES = 45, 300
KERNELS = 30
FUNCTIONS = 8 + KERNELS


@dataclass(frozen=True, slots=True)
class Author:
    """An environment with dovetail and the author's package, and a folder to work in.

    Attributes:
        programs: the folder of the environment's programs.
        folder: where the commands run, which is not the package's.
        package: the folder that `dovetail new-backend` wrote.
    """

    programs: Path
    folder: Path
    package: Path

    def run(self, program: str, *arguments: str | Path, status: int = 0) -> str:
        """What a program of the environment prints; its exit status is `status`.

        With errors, where it is to fail.
        """
        done = child.run(
            self.programs / program, *arguments, cwd=self.folder, status=status,
            limit=600,
        )  # fmt: skip
        return done.stdout + done.stderr * bool(status)

    def device(self) -> dict[str, Any]:
        """What `dovetail devices` says of acme:0."""
        rows = json.loads(self.run("dovetail", "devices", "--json"))["devices"]
        (row,) = [row for row in rows if row["device"] == "acme:0"]
        assert isinstance(row, dict)
        return row


@pytest.fixture(scope="module")
def author(tmp_path_factory: pytest.TempPathFactory) -> Author:
    """An author who has just run `new-backend` and `pip install -e`."""
    folder = tmp_path_factory.mktemp("author")
    venv.create(folder / "venv", with_pip=True, symlinks=True)
    package = folder / "dovetail-acme"
    made = Author(folder / "venv" / "bin", folder, package)
    made.run("pip", "install", "-q", f"{ROOT / 'core'}[conformance]")
    made.run("dovetail", "new-backend", "acme")
    made.run("pip", "install", "-q", "-e", f"{package}[test]")
    return made


def conformance(author: Author, *options: str) -> dict[str, Any]:
    """The report of a run of the kit on the author's device."""
    path = author.folder / "report.json"
    path.unlink(missing_ok=True)
    done = child.run(
        author.programs / "dovetail", "conformance", "--device", "acme:0",
        "--jobs", 2, "--json", path, *options, cwd=author.folder, status=None,
        limit=3600, OPENBLAS_NUM_THREADS="1", COLUMNS="200",
    )  # fmt: skip
    assert path.exists(), done.stdout + done.stderr
    report = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(report, dict)
    return {**report, "status": done.returncode, "screen": done.stdout}


@pytest.fixture(scope="module")
def skeleton(author: Author) -> Author:
    """The author before the first line of code."""
    return author


@pytest.fixture(scope="module")
def solution(skeleton: Author) -> Author:
    """The author with every function written."""
    target = skeleton.package / "src" / "dovetail_acme"
    for name in ("backend.py", "kernels.py"):
        shutil.copy(SOLUTION / name, target / name)
    return skeleton


def test_skeleton_is_ready_and_empty(skeleton: Author) -> None:
    """The device is there from the start, with every kernel still to be written."""
    row = skeleton.device()
    assert (row["state"], row["distribution"]) == ("ready", "dovetail-acme")
    assert (row["kernels"], row["unwritten"]) == (0, KERNELS)


def test_own_tests_pass_from_the_start(skeleton: Author) -> None:
    """The package's own tests need no function of the author's."""
    told = skeleton.run("python", "-m", "pytest", "-q", "-c", "/dev/null",
                        skeleton.package / "tests")  # fmt: skip
    assert "2 passed" in told


def test_skeleton_is_typed(skeleton: Author, tmp_path: Path) -> None:
    """A strict type checker has nothing to say about what was written."""
    options = ["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path)]
    child.python(
        "-m", "mypy", *options, "-p", "dovetail_acme", cwd=skeleton.package / "src",
        limit=600, MYPYPATH=str(ROOT / "core" / "src"),
    )  # fmt: skip


def test_wheel_is_publishable(skeleton: Author, tmp_path: Path) -> None:
    """The wheel holds the code, the waivers, the types' marker and the licence."""
    skeleton.run("pip", "wheel", "-q", "--no-deps", "-w", tmp_path, skeleton.package)
    (wheel,) = tmp_path.glob("dovetail_acme-0.1.0-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("__init__.py", "backend.py", "kernels.py", "py.typed", "waivers.toml"):
        assert f"dovetail_acme/{name}" in names
    info = "dovetail_acme-0.1.0.dist-info"
    assert f"{info}/licenses/LICENSE" in names
    entries = zipfile.ZipFile(wheel).read(f"{info}/entry_points.txt").decode()
    assert "[dovetail.backends.v1]\nacme = dovetail_acme" in entries


def test_first_run_lists_what_is_to_do(skeleton: Author) -> None:
    """The kit stops in one message, and lists what unlocks most first."""
    report = conformance(skeleton)
    assert (report["status"], report["level"], report["passed"]) == (1, None, False)
    assert report["counts"].keys() == {"todo", "untested"}
    screen = report["screen"]
    assert "STOP copy_out: copy_in is to be written (backend.py:" in screen
    assert "FAIL" not in screen
    assert f"To do: {FUNCTIONS} of {FUNCTIONS} functions" in screen
    listed = [line.split()[0] for line in screen.splitlines() if " unlocks " in line]
    assert listed[:2] == ["copy_in", "copy_out"]


def test_next_names_one_function(skeleton: Author) -> None:
    """`--next` says what to write, where, what it must do, and how to see it fail."""
    screen = conformance(skeleton, "--next")["screen"]
    assert "NEXT  write copy_in" in screen
    for row in ("where", "must do", "unlocks", "asked by", "reproduce"):
        assert f"\n      {row}" in screen
    shown = next(line for line in screen.splitlines() if "reproduce" in line)
    assert "copy_in is to be written" in skeleton.run(*shown.split()[1:], status=1)


def test_filled_in_device_computes(solution: Author) -> None:
    """Nothing is left to write, and a gradient is computed without the host."""
    row = solution.device()
    assert (row["kernels"], row["unwritten"]) == (KERNELS, 0)
    code = (
        "import dovetail as dt; dt.set_fallback_policy('error')\n"
        "x = dt.tensor([[1.0, -2.0], [3.0, 0.5]], device='acme', requires_grad=True)\n"
        "(x @ x.T).relu().sum().backward(); print(x.grad.tolist())"
    )
    assert json.loads(solution.run("python", "-c", code)) == [[8.0, -3.0]] * 2


def test_wrong_kernel_is_shown(solution: Author) -> None:
    """A NaN that leaks from `where` is found at once, and its script shows it."""
    path = solution.package / "src" / "dovetail_acme" / "kernels.py"
    right = path.read_text(encoding="utf-8")
    chosen = "np.where(condition.values, input.values, other.values)"
    leak = "condition.values * input.values + ~condition.values * other.values"
    assert right.count(chosen) == 1
    path.write_text(right.replace(chosen, leak), encoding="utf-8")
    try:
        report = conformance(solution, "--next", "--ops", "where")
        assert report["status"] == 1
        assert "NEXT  mend where/float32/forward" in report["screen"]
        script = report["reproductions"]["where/float32/forward"]
        told = solution.run(*script.split(), status=1)
        assert "FAILS" in told
        assert "is nan, needed 0.0" in told
    finally:
        path.write_text(right, encoding="utf-8")
    assert "passes" in solution.run(*script.split())


def test_level_zero_is_reached(solution: Author) -> None:
    """The kit finds every function of level 0 there and right, and seals it."""
    sealed, badge = solution.folder / "certificate.json", solution.folder / "badge.svg"
    options = ["--level", "0", "--certificate", str(sealed), "--badge", str(badge)]
    report = conformance(solution, *options)
    assert report["status"] == 0, report["screen"]
    assert report["level"] is not None
    assert "todo" not in report["counts"]
    certificate = json.loads(sealed.read_text(encoding="utf-8"))
    assert certificate["level"] == report["level"]
    assert certificate["pins"]["about"]["distribution"] == "dovetail-acme"
    assert f"level {report['level']}" in badge.read_text(encoding="utf-8")


def test_pytest_runs_the_kit(solution: Author) -> None:
    """In the package's folder `pytest` proves the device, then runs its own tests."""
    told = solution.run("python", "-m", "pytest", "-q", "--rootdir", solution.package,
                        "-c", solution.package / "pyproject.toml",
                        "--dovetail-ops", "add,softmax", solution.package / "tests",
                        "dovetail.conformance")  # fmt: skip
    assert "no level: it was limited by --ops add,softmax" in told
    assert " failed" not in told


def test_level_zero_is_small(
    solution: Author, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of the package is at most 45 functions and 300 lines."""
    files = (solution.package / "src").rglob("*.py")
    texts = [path.read_text(encoding="utf-8") for path in files]
    lines = sum(text.count("\n") for text in texts)
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    functions = sum(isinstance(n, ast.FunctionDef | ast.Lambda) for n in nodes)
    with capsys.disabled():
        print(f"\nlevel 0 of acme: {functions} functions, {lines} lines")
    assert functions <= MOST_FUNCTIONS
    assert lines <= MOST_LINES
