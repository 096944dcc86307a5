"""README.md, .ci/run and .pre-commit-config.yaml say the same thing."""

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.support import child

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
PRE_COMMIT = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")


def fenced(text: str, language: str) -> list[str]:
    """The contents of the fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)


def ci_steps(script: str) -> list[str]:
    """The commands that the script runs, in order, with its variables filled in."""
    values = dict(re.findall(r"^(\w+)='([^']*)'$", script, re.MULTILINE))
    steps = re.findall(r"^step (?:'([^']*)'|\"\$(\w+)\")$", script, re.MULTILINE)
    return [literal or values[name] for literal, name in steps]


def test_readme_has_two_commands_of_one_line() -> None:
    """All set-up is in two commands, each of which is a single line."""
    blocks = fenced(README, "sh")
    assert len(blocks) == 2
    assert all("\n" not in block for block in blocks)


def test_first_command_runs_the_demo() -> None:
    """The first command installs core and cpu, then trains on the digits."""
    install, run = fenced(README, "sh")[0].split(" && ")
    assert install.startswith("python -m pip install")
    assert run.endswith("dovetail demo digits")


def test_second_command_runs_the_tests() -> None:
    """The second command installs for development, then runs every fast test."""
    install, run = fenced(README, "sh")[1].split(" && ")
    assert install.startswith("python -m pip install")
    assert run.startswith("python -m pytest ")
    assert "-m" not in run.split()[3:]


def test_ci_starts_with_exactly_these_commands() -> None:
    """.ci/run runs the README's two lines, letter by letter, before all else."""
    assert ci_steps(CI)[:2] == fenced(README, "sh")


def test_ci_goes_on_with_the_command_for_parity() -> None:
    """The third step is what the README gives for the tests that need torch."""
    parity = ci_steps(CI)[2]
    assert "./core[parity]" in parity
    assert f"`{parity}`" in " ".join(README.split())


def test_no_other_command_brings_torch() -> None:
    """Neither the demo nor the tests install gigabytes of PyTorch."""
    assert not [c for c in fenced(README, "sh") if "parity" in c or "torch" in c]


def test_ci_ends_with_slow_tests_the_kit_lint_and_types() -> None:
    """After the README's commands come the slow tests, the kit and the linters."""
    assert ci_steps(CI)[3:] == [
        "python -m pytest -m slow -n auto --dist loadfile",
        "python -m dovetail conformance --device cpu --budget standard --jobs 2",
        "DOVETAIL_KERNELS=1 DOVETAIL_ONEDNN=1 "
        "python -m dovetail conformance --device cpu --jobs 2",
        'python -m pip install -q -e "./backends/xpu[onednn]" && '
        "DOVETAIL_XPU_ALLOW_CPU=1 python -m pytest "
        "tests/accelerators/xpu tests/accelerators/test_together.py",
        "ruff check",
        "ruff format --check",
        "mypy",
    ]


def test_ci_is_an_executable_script_that_parses() -> None:
    """.ci/run can be started as it is."""
    script = ROOT / ".ci" / "run"
    assert os.stat(script).st_mode & stat.S_IXUSR
    child.run("bash", "-n", script)


def test_ci_stops_at_the_first_failure(tmp_path: Path) -> None:
    """A step that fails, also in the first half of a line, ends the script."""
    broken = CI.replace(fenced(README, "sh")[0], "false && true")
    broken = broken.replace('python3 -m venv "$fresh"', "")
    broken = broken.replace('source "$fresh/bin/activate"', "")
    (tmp_path / ".ci").mkdir()
    script = tmp_path / ".ci" / "run"
    script.write_text(broken, encoding="utf-8")
    done = child.run("bash", script, status=None)
    assert done.returncode != 0
    assert done.stdout.split("$ ")[1:] == ["false && true\n"]


def test_pre_commit_runs_the_same_linters() -> None:
    """The hooks are the lint and type commands of .ci/run, and no others."""
    entries = re.findall(r"^ +entry: (.+)$", PRE_COMMIT, re.MULTILINE)
    assert entries == [s for s in ci_steps(CI) if "python -m" not in s]


def test_example_has_ten_lines() -> None:
    """The first example is ten lines long and differs from torch's by its import."""
    lines = [line for line in fenced(README, "python")[0].splitlines() if line]
    assert len(lines) == 10
    assert lines[0] == "import dovetail as torch"


def test_example_runs_and_learns(capsys: pytest.CaptureFixture[str]) -> None:
    """The first example does what its last comment says."""
    names: dict[str, Any] = {}
    exec(compile(fenced(README, "python")[0], "README.md", "exec"), names)
    weight, bias = names["model"].weight, names["model"].bias
    assert abs(weight[0, 0].item() - 2) < 0.1
    assert abs(weight[0, 1].item() + 3) < 0.1
    assert abs(bias[0].item() - 1) < 0.1
    assert capsys.readouterr().out.startswith("Parameter containing:\ntensor([[")


def test_links_lead_somewhere() -> None:
    """Every relative link of the README is a file of the repository."""
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert targets
    missing = [t for t in targets if not (ROOT / t).exists()]
    assert not missing, missing
