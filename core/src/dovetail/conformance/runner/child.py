"""A process of ours that may crash, hang or start others: how it begins and ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

POSIX: Final = os.name == "posix"


def start(
    module: str, arguments: Sequence[str], *, environ: Mapping[str, str],
    usual: Mapping[str, str] | None = None, apart: bool = True, **streams: Any,
) -> subprocess.Popen[Any]:  # fmt: skip
    """Run a module in an interpreter that sees what this one sees.

    Args:
        module: as `python -m` takes it.
        arguments: of its command line.
        environ: variables that it has beside ours.
        usual: those that ours replace.
        apart: whether it is no part of our session: Ctrl-C is ours to handle then, and
            it is ended together with all that it started. Else what ends us ends it.
        streams: as `Popen` takes them.
    """
    path = os.pathsep.join(entry for entry in sys.path if entry)
    known = {**(usual or {}), **os.environ, "PYTHONPATH": path, **environ}
    command = [sys.executable, "-P", "-m", module, *arguments]
    return subprocess.Popen(command, env=known, start_new_session=apart, **streams)


def end(process: subprocess.Popen[Any]) -> None:
    """End a process and all that it started; one that has ended is no error."""
    if POSIX:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def death(status: int) -> str:
    """How a process ended: the name of a signal, or its exit status."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
