"""Repeats of the tests of `xpu`, each in a process that is ended where it hangs.

    python -m tests.accelerators.xpu.repeats 50 --patience 300 -- test_device.py

What comes after `--` goes to pytest: files of this folder, and options. The exit status
is 0 where no repeat hung or failed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent


def outcome(command: list[str], patience: float) -> str:
    """How a command ends: `passed`, `failed` or `hung`, whose processes are ended."""
    started = subprocess.Popen(
        command,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        cwd=FOLDER.parents[2],
    )
    try:
        return "failed" if started.wait(patience) else "passed"
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        return "hung"


def main() -> int:
    """Repeat, and print how often each outcome was seen and how long one took."""
    parser = argparse.ArgumentParser(prog="repeats", description=__doc__)
    parser.add_argument("repeats", type=int)
    parser.add_argument("--patience", type=float, default=300, help="seconds a hang is")
    parser.add_argument("given", nargs="*", help="what pytest gets, after --")
    wish = parser.parse_intermixed_args()
    given = [str(FOLDER / g) if (FOLDER / g).exists() else g for g in wish.given]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    seen: Counter[str] = Counter()
    begun = time.monotonic()
    for _ in range(wish.repeats):
        seen[outcome([*command, *(given or [str(FOLDER)])], wish.patience)] += 1
    each = (time.monotonic() - begun) / max(1, wish.repeats)
    told = ", ".join(f"{seen[how]} {how}" for how in ("passed", "failed", "hung"))
    print(f"{wish.repeats} repeats: {told}; {each:.1f} s each")
    return 0 if seen["passed"] == wish.repeats else 1


if __name__ == "__main__":
    raise SystemExit(main())
