"""What dovetail adds to NumPy's start: its import, and a process from start to end.

Each round runs the programs in turn, in processes of their own with compiled files
cached; the least of all rounds counts. The end of a process is the interpreter's
shutdown, in which it looks through and frees what the imports made. Milliseconds of
the processor are those of the whole process: they hardly feel other work on the
machine. torch is measured where it is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from resource import RUSAGE_CHILDREN, getrusage
from typing import Final

ROUNDS: Final = 12
IMPORT_BAR_MS: Final = 60.0
PROCESS_BAR_MS: Final = 100.0
# `perf_counter` inside the process: its start and end are not the import's.
TIMED: Final = (
    "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
)
PROGRAMS: Final = {"numpy": "numpy", "dovetail": "numpy, dovetail", "torch": "torch"}
Round = dict[str, tuple[float, float, float]]


def processor_s() -> float:
    """Seconds of the processor that finished child processes took."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(modules: str, env: dict[str, str]) -> tuple[float, float, float]:
    """Milliseconds: of the import, of the whole process, and of the processor."""
    command = [sys.executable, "-c", TIMED.format(modules)]
    worked, started = processor_s(), time.perf_counter()
    imported = float(subprocess.check_output(command, env=env, text=True))
    ended = time.perf_counter() - started
    return imported * 1e3, ended * 1e3, (processor_s() - worked) * 1e3


def measure() -> Round:
    """The least of each figure, by program."""
    programs = {n: m for n, m in PROGRAMS.items() if n != "torch" or find_spec(n)}
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "OPENBLAS_NUM_THREADS": "1"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        rounds = [
            {name: run(modules, env) for name, modules in programs.items()}
            for _ in range(ROUNDS + 1)
        ][1:]  # the first one compiles
    return {name: tuple(map(min, zip(*(r[name] for r in rounds), strict=True)))
            for name in programs}  # fmt: skip


def added(found: Round) -> tuple[float, float, float]:
    """What dovetail adds to each figure of NumPy."""
    ours, numpys = found["dovetail"], found["numpy"]
    return ours[0] - numpys[0], ours[1] - numpys[1], ours[2] - numpys[2]


def main(argv: list[str]) -> int:
    """Print milliseconds; exit status 1 if a bar is not met."""
    found = measure()
    more = added(found)
    met = more[0] <= IMPORT_BAR_MS and more[1] <= PROCESS_BAR_MS
    names = ("import", "process", "processor")
    if "--json" in argv:
        rows = {n: dict(zip(names, ms, strict=True)) for n, ms in found.items()}
        rows["dovetail adds"] = dict(zip(names, more, strict=True))
        bars = {"import": IMPORT_BAR_MS, "process": PROCESS_BAR_MS}
        print(json.dumps({"ms": rows, "bar_ms": bars, "met": met}))
        return 0 if met else 1
    print(f"{'ms':16}" + "".join(f"{name:>12}" for name in names))
    for name, ms in (*found.items(), ("dovetail adds", more)):
        print(f"{name:16}" + "".join(f"{value:12.1f}" for value in ms))
    print(f"{'bar':16}{IMPORT_BAR_MS:12.1f}{PROCESS_BAR_MS:12.1f}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
