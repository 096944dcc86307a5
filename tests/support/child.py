"""Commands and programs that run in a process of their own, within a limit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Done = subprocess.CompletedProcess[str]


def run(
    *command: object, cwd: Path | None = None, status: int | None = 0,
    path: Sequence[Path] = (), limit: float = 120.0, **environ: str,
) -> Done:  # fmt: skip
    """What a command prints, and how it ends.

    Args:
        command: the program and its arguments.
        cwd: the folder that it runs in.
        status: what it has to end with; None for anything.
        path: folders that Python looks in first.
        limit: seconds that it has.
        environ: variables that it has beside ours.
    """
    words = [str(part) for part in command]
    inherited = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    folders = os.pathsep.join([*map(str, path), *inherited])
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, "PYTHONPATH": folders, **environ},
        capture_output=True, text=True, timeout=limit, check=False,
    )  # fmt: skip
    told = f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert status in (None, done.returncode), told
    return done


def python(
    *arguments: object, cwd: Path | None = None, status: int | None = 0,
    path: Sequence[Path] = (), limit: float = 120.0, **environ: str,
) -> Done:  # fmt: skip
    """What Python prints with these arguments, such as `-c` and a program."""
    return run(
        sys.executable, *arguments, cwd=cwd, status=status, path=path, limit=limit,
        **environ,
    )  # fmt: skip


def printed(code: str, *arguments: object) -> str:
    """What a program prints that ends well."""
    return python("-c", code, *arguments).stdout.strip()
