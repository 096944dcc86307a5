"""Several processes that run one function, and whose errors their parent raises."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from dovetail.errors import ArgumentError

# How long the others of a process that failed may take to end when they are asked to.
_GRACE_S = 30.0


class ProcessException(Exception):
    """A process of `start_processes` did not end well.

    Attributes:
        error_index: the number of the process; pid: its id.
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process raised; the message has its traceback."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or an exit code.

    Attributes:
        exit_code: negative for a signal; signal_name: its name, if it was one.
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int,
        signal_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        facts = (self.msg, self.error_index, self.pid, self.exit_code)
        return type(self), (*facts, self.signal_name)


class ProcessContext:
    """Processes that run, to be waited for.

    Attributes:
        processes: as `multiprocessing` knows them.
    """

    def __init__(
        self, processes: list[BaseProcess], errors: Sequence[Connection]
    ) -> None:
        self.processes = processes
        self._errors = errors
        self._left = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [int(p.pid or 0) for p in self.processes]

    def join(
        self, timeout: float | None = None, grace_period: float | None = None
    ) -> bool:
        """Wait until one fails, or all have ended.

        Args:
            timeout: in seconds; None waits as long as it takes.
            grace_period: how long the others may take to end, in seconds, when one
                failed; then they are killed.

        Returns: whether all have ended well; False only beyond a timeout, or while
            others still run.

        Raises:
            ProcessRaisedException: one raised. ProcessExitedException: one ended by
                a signal or with an exit code other than 0.
        """
        if not self._left:
            return True
        failed = None
        for sentinel in wait(list(self._left), timeout):
            index = self._left.pop(int(sentinel))  # type: ignore[arg-type]
            process = self.processes[index]
            process.join()
            if process.exitcode:
                failed = index
                break
        if failed is None:
            return not self._left
        _end(self.processes, _GRACE_S if grace_period is None else grace_period)
        raise self._failure(failed)

    def _failure(self, index: int) -> ProcessException:
        process, code = self.processes[index], self.processes[index].exitcode or 0
        pid = int(process.pid or 0)
        with suppress(EOFError):  # from one that had nothing to say
            told = self._errors[index].recv()
            return ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{told}",
                index, pid,
            )  # fmt: skip
        if code < 0:
            name = _name_of(-code)
            return ProcessExitedException(
                f"process {index} terminated with signal {name}", index, pid, code, name
            )
        return ProcessExitedException(
            f"process {index} terminated with exit code {code}", index, pid, code
        )


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1,
    join: bool = True, daemon: bool = False, start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run `fn(i, *args)` in processes of number i = 0 … nprocs - 1.

    Tensors among `args` are shared with all of them.

    Args:
        fn: a function of a module, which other processes can import.
        join: wait for all; else the context is returned, which can be joined.
        daemon: the processes end with this one.
        start_method: "spawn", "fork" or "forkserver".

    Raises: as `ProcessContext.join`, and ArgumentError for a number below 1.
    """
    if nprocs < 1:
        raise ArgumentError("start_processes", "nprocs", was=nprocs, needed="1 or more")
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    try:
        for index in range(nprocs):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(
                target=_run, args=(fn, index, args, theirs), daemon=daemon
            )
            process.start()
            theirs.close()
            processes.append(process)
            errors.append(ours)
    except BaseException:
        _end(processes, 0.0)
        raise
    found = ProcessContext(processes, errors)
    if not join:
        return found
    try:
        while not found.join():
            pass
    except BaseException:  # Ctrl-C too: nothing goes on without its parent
        _end(processes, _GRACE_S)
        raise
    return None


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1,
    join: bool = True, daemon: bool = False, start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """`start_processes`, under the name that programs know."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def _run(
    fn: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Connection
) -> None:
    """What each process does."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # of which the parent knows
    except Exception:
        errors.send(traceback.format_exc())
        raise SystemExit(1) from None


def _end(processes: Sequence[BaseProcess], grace_s: float) -> None:
    """Ask processes to end, and kill those that do not in time."""
    for process in processes:
        if process.is_alive():
            process.terminate()
    limit = time.monotonic() + grace_s
    for process in processes:
        process.join(max(0.0, limit - time.monotonic()))
    for process in processes:
        if process.is_alive():
            os.kill(int(process.pid or 0), signal.SIGKILL)
            process.join()


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"<Unknown signal {number}>"
