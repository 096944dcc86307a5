"""Ctrl-C as a request to stop, so that no batch is left half done."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Self


class StopRequest:
    """Inside `with`, the first Ctrl-C sets `requested`, the second interrupts.

    In threads other than the main one, where Python delivers no signals, and where
    SIGINT is ignored (`nohup`, background jobs), nothing changes.
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: signal._HANDLER = None

    def __enter__(self) -> Self:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._previous = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
