"""Where torch is not installed, the tests that compare with it are left out, aloud."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

LEFT_OUT = (
    "tests/parity is skipped, for torch is not installed; "
    'python -m pip install -e "./core[parity]" adds it'
)

HAS_TORCH = find_spec("torch") is not None
collect_ignore_glob = [] if HAS_TORCH else ["parity/*"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line says what was left out and how to add it."""
    if not HAS_TORCH:
        terminalreporter.write_line(LEFT_OUT, yellow=True)
