"""What all tests have: Ctrl-C, a cache of kernels, and a line on what was left out.

Where torch is not installed, the tests that compare with it are left out, aloud.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes tells of the load, and of kernels that are compiled.
settings.register_profile("dovetail", parent=settings.default, deadline=None)
settings.load_profile("dovetail")

LEFT_OUT = (
    "tests/parity is skipped, for torch is not installed; "
    'python -m pip install -e "./core[parity]" adds it'
)

HAS_TORCH = find_spec("torch") is not None
collect_ignore_glob = [] if HAS_TORCH else ["parity/*"]


# Who is started in the background ignores Ctrl-C, and so do programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Kernels of tests are kept apart from the user's, here and in new processes."""
    folder = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOVETAIL_KERNEL_CACHE", os.fspath(folder))
        yield folder


@pytest.fixture(scope="module", autouse=True)
def _older_than_a_module() -> None:
    """Tests collect garbage often; what there was before them is not looked through."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line says what was left out and how to add it."""
    if not HAS_TORCH:
        terminalreporter.write_line(LEFT_OUT, yellow=True)
