"""What an import costs: numpy, dovetail on top of it, and torch.

Each round starts the three programs in turn, in processes of their own with compiled
files cached; the least of all rounds counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Final

ROUNDS: Final = 12
BAR_MS: Final = 60.0
# `perf_counter` inside the process: its start and end are not the import's.
TIMED: Final = (
    "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
)


def seconds(modules: str, env: dict[str, str]) -> float:
    """Seconds that one process takes to import `modules`."""
    command = [sys.executable, "-c", TIMED.format(modules)]
    return float(subprocess.check_output(command, env=env, text=True))


def measure() -> dict[str, float]:
    """Least milliseconds of each import, and what dovetail adds to numpy."""
    programs = {
        "numpy": "numpy",
        "numpy and dovetail": "numpy, dovetail",
        "torch": "torch",
    }
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        rounds = [
            {name: seconds(modules, env) for name, modules in programs.items()}
            for _ in range(ROUNDS + 1)
        ][1:]  # the first one compiles
    least = {name: min(r[name] for r in rounds) * 1e3 for name in programs}
    return {**least, "dovetail adds": least["numpy and dovetail"] - least["numpy"]}


def main(argv: list[str]) -> int:
    """Print milliseconds; exit status 1 if the bar is not met."""
    found = measure()
    if "--json" in argv:
        print(json.dumps({"ms": found, "bar_ms": BAR_MS}))
    else:
        for name, ms in found.items():
            print(f"{name:24}{ms:8.1f} ms")
        print(f"bar: dovetail adds at most {BAR_MS:.0f} ms to numpy")
    return 0 if found["dovetail adds"] <= BAR_MS else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
