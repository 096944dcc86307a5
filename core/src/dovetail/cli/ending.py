"""A request to end, of whoever sends it, ends a run as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from dovetail.cli.failure import INTERRUPTED

TERMINATED: Final = 143
"""Exit status after SIGTERM: 128 + 15, as shells count."""


class Ending:
    """How a run was asked to end.

    Attributes:
        status: the exit status of a run that was interrupted.
    """

    def __init__(self) -> None:
        self.status = INTERRUPTED
        self._runs = True

    def ask(self, *_: Any) -> None:
        """End what runs; what was found is written all the same."""
        if self._runs:
            self._runs = False
            self.status = TERMINATED
            raise KeyboardInterrupt

    def over(self) -> None:
        """Nothing runs any more."""
        self._runs = False


@contextmanager
def ending() -> Iterator[Ending]:
    """Let SIGTERM, which build servers send at their limit, be a Ctrl-C."""
    asked = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield asked  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGTERM, asked.ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGTERM, before)
