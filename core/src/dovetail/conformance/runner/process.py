"""A worker as its supervisor sees it: asked, watched, and ended."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dovetail.conformance.run import About
from dovetail.conformance.runner import child, protocol
from dovetail.conformance.runner.journal import Entry, Journal
from dovetail.conformance.verdicts import Outcome
from dovetail.errors import DeviceError

_LOOKS: Final = 0.2  # seconds between looks at the journal
_LOADING: Final = 120.0  # seconds that a backend has, however little patience there is
_LAST_WORDS: Final = 2.0  # seconds that a hung process has to say where it hangs
_TAIL: Final = 4000  # characters of the log that are told
_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Settings:
    """What workers are started with.

    Attributes:
        setup: modules to import before the device is loaded.
        patience: seconds without a note in the journal that count as a hang.
    """

    device: str
    setup: tuple[str, ...] = ()
    patience: float = 60.0


class Died(Exception):
    """A worker ended before it answered.

    Attributes:
        outcome: crashed, hung, or out of memory.
        how: in words.
        entry: the last note in its journal.
        log: the end of what it printed.
    """

    def __init__(self, outcome: Outcome, how: str, entry: Entry, log: str) -> None:
        super().__init__(how)
        self.outcome, self.how, self.entry, self.log = outcome, how, entry, log


class KitFailed(Exception):
    """A worker says that the kit itself failed, not the device."""

    def __init__(self, message: str, trace: str) -> None:
        super().__init__(message)
        self.trace = trace


class Ended(Exception):
    """The worker was told to end while it was asked."""


class Process:
    """One worker process, from its start to its end."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ended = False
        self._folder = tempfile.TemporaryDirectory(prefix="dovetail-")
        self._log = Path(self._folder.name, "log")
        self._told = 0  # where in the log the current request began
        self.journal = Journal(Path(self._folder.name, "journal"))
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = self._started()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _started(self) -> subprocess.Popen[str]:
        arguments = ["--device", self.settings.device]
        arguments += ["--journal", str(Path(self._folder.name, "journal"))]
        for module in self.settings.setup:
            arguments += ["--setup", module]
        # One thread for each library, unless the user says otherwise: sums are then
        # made in the same order on a machine of any size. Hypothesis would keep notes
        # in the folder that the run was started in.
        usual = dict.fromkeys(_THREADS, "1")
        usual["HYPOTHESIS_STORAGE_DIRECTORY"] = self._folder.name
        with self._log.open("wb") as log:
            return child.start(
                "dovetail.conformance.runner.worker", arguments, usual=usual,
                environ={"PYTHONHASHSEED": "0"},  # sets of strings have one order
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                encoding="utf-8", errors="replace",
            )  # fmt: skip

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # closed meanwhile
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put(None)

    def about(self) -> About:
        """Wait until the device is loaded.

        Raises:
            DeviceError: it cannot be, or the process died of it.
        """
        device = self.settings.device
        try:
            return About.from_json(self._answer(_LOADING))
        except KitFailed as failed:
            reason = str(failed)
        except Died as died:
            reason = f"{died.how}; {_last_line(died.log)}".rstrip("; ")
        raise DeviceError(
            "conformance", device, was=f"not to be used: {reason}",
            needed="a device whose backend loads",
            remedy="run `dovetail devices` for the state of every backend",
        )  # fmt: skip

    def ask(self, do: str, **request: Any) -> Any:
        """The answer to a request.

        Raises:
            Died: the process ended, or hung and was ended.
            KitFailed: it answered that the kit failed.
            Ended: `kill` was called meanwhile.
        """
        self._told = self._log.stat().st_size
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its end is seen below
            self._process.stdin.write(protocol.written({"do": do, **request}))
            self._process.stdin.flush()
        return self._answer(_LOADING if do in protocol.SLOW else 0)

    def _answer(self, least: float) -> Any:
        patience = max(least, self.settings.patience)
        while True:
            line = self._line(patience)
            if self.ended:
                raise Ended
            if line is None:
                raise self._death()
            message = protocol.read(line)
            if message is None:
                continue
            if protocol.FAILED in message:
                raise KitFailed(message[protocol.FAILED], message[protocol.TRACEBACK])
            return message[protocol.OK]

    def _line(self, patience: float) -> str | None:
        """The next line, None at the end; a hang ends the process."""
        moves, since = self.journal.moves(), time.monotonic()
        while True:
            try:
                return self._lines.get(timeout=_LOOKS)
            except queue.Empty:
                now = time.monotonic()
                if self.journal.moves() != moves:
                    moves, since = self.journal.moves(), now
                elif now - since > patience:
                    raise self._hang(patience) from None

    def _hang(self, patience: float) -> Died:
        if child.POSIX:  # faulthandler writes where it hangs
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGABRT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LAST_WORDS)
        self._end()
        how = f"no answer for {patience:g} s, ended by the watchdog"
        return Died(Outcome.HUNG, how, self.journal.read(), self._tail())

    def _death(self) -> Died:
        self._process.wait()
        outcome, how = manner(self._process.returncode)
        entry, log = self.journal.read(), self._tail()
        return Died(outcome, how, entry, log)

    def _tail(self) -> str:
        return without_modules(tail(self._log, self._told))

    def _end(self) -> None:
        child.end(self._process)

    def kill(self) -> None:
        """End it at once, from any thread; who waits for an answer gets `Ended`."""
        self.ended = True
        self._end()

    def close(self) -> None:
        """End it and let go of all that it used."""
        self.kill()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self.journal.close()
        self._folder.cleanup()


def manner(status: int) -> tuple[Outcome, str]:
    """How a process ended, from its exit status."""
    name = child.death(status)
    if status >= 0:
        return Outcome.CRASHED, f"the process ended with {name}"
    if name == "SIGKILL":  # none of ours: those are told apart before
        return (
            Outcome.OUT_OF_MEMORY,
            "the process was ended by SIGKILL, as the kernel does when memory runs out",
        )
    return Outcome.CRASHED, f"the process died of {name}"


def tail(log: Path, start: int) -> str:
    """The end of what was written from `start` on."""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(start, size - _TAIL))
        return file.read().decode(errors="replace")


def without_modules(text: str) -> str:
    """A log without the long list with which `faulthandler` ends."""
    lines = text.splitlines()
    return "\n".join(x for x in lines if not x.startswith("Extension modules:"))


def _last_line(text: str) -> str:
    lines: Sequence[str] = text.strip().splitlines()
    return lines[-1] if lines else ""
