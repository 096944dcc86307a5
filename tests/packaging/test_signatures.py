"""Type checkers and editors know the public names, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import child

from dovetail.signatures.stubs import FOLDER, stubs

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "typing"


def test_the_stubs_are_those_of_the_declarations() -> None:
    """`python -m dovetail.signatures` would write what is there."""
    stale = [n for n, text in stubs().items() if (FOLDER / n).read_text() != text]
    assert not stale, f"{stale}: run python -m dovetail.signatures"


@pytest.fixture(scope="module")
def complaints() -> dict[str, list[int]]:
    """The lines of each program in which mypy, as users run it, finds a mistake."""
    done = child.python(
        "-m", "mypy", "--strict", "--config-file=", "--no-incremental",
        "--no-color-output", "--explicit-package-bases", "--follow-imports=silent",
        "right.py", "wrong.py",
        cwd=PROGRAMS, status=None, MYPYPATH=str(ROOT / "core" / "src"), limit=600,
    )  # fmt: skip
    found: dict[str, list[int]] = {"right.py": [], "wrong.py": []}
    for line in done.stdout.splitlines():
        name, _, rest = line.partition(":")
        if ": error: " in rest and name in found:
            found[name].append(int(rest.partition(":")[0]))
    assert any(found.values()), done.stdout + done.stderr
    return found


def test_a_right_program_has_no_mistakes(complaints: dict[str, list[int]]) -> None:
    """Functions, methods, layers and optimizers have the types they return."""
    assert complaints["right.py"] == []


def test_every_mistake_is_found(complaints: dict[str, list[int]]) -> None:
    """Wrong names, arguments and types are errors, each in its line."""
    lines = (PROGRAMS / "wrong.py").read_text().splitlines()
    marked = [n for n, line in enumerate(lines, 1) if line.endswith("# wrong")]
    assert sorted(set(complaints["wrong.py"])) == marked
