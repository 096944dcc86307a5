"""Without torch the tests run, and one line says what is missing."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.support import child

ROOT = Path(__file__).resolve().parents[2]

# None in `sys.modules` is Python's way to say that a package cannot be imported.
HIDDEN = "import sys; sys.modules['torch'] = None; import pytest; pytest.main()"
SHOWN = "import pytest; pytest.main()"


def collected(code: str) -> list[str]:
    """What pytest prints of the tests of two folders that it would run."""
    folders = ("tests/parity", "tests/null")
    options = ("--collect-only", "-q", "-p", "no:cacheprovider")
    done = child.python("-c", code, *folders, *options, cwd=ROOT)
    return done.stdout.splitlines()


def test_one_line_says_how_to_add_parity() -> None:
    """Other tests are collected, and one line tells of those with torch."""
    lines = collected(HIDDEN)
    assert any(line.startswith("tests/null/") for line in lines)
    assert not [line for line in lines if line.startswith("tests/parity/")]
    (told,) = (line for line in lines if "./core[parity]" in line)
    assert "skipped" in told


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_nothing_is_said_where_torch_is() -> None:
    """With torch the tests of parity are there, without a word about it."""
    lines = collected(SHOWN)
    assert any(line.startswith("tests/parity/") for line in lines)
    assert not [line for line in lines if "./core[parity]" in line]
