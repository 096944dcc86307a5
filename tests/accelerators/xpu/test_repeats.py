"""The command that repeats tests tells hangs from failures."""

import sys

import pytest
from tests.accelerators.xpu.repeats import outcome


@pytest.mark.parametrize(
    ("code", "expected"),
    [("", "passed"), ("raise SystemExit(3)", "failed"),
     ("import time; time.sleep(60)", "hung")],
)  # fmt: skip
def test_each_end_has_its_name(code: str, expected: str) -> None:
    """What goes on beyond the patience is ended, and has hung."""
    assert (
        outcome([sys.executable, "-c", code], 5 if expected == "hung" else 60)
        == expected
    )
