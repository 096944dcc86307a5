"""Functions that programs call now and then, on few and on many elements, beside torch.

Each is timed alone, and with its gradient where it has one. Libraries take turns in one
process, on as many threads; what is compiled is compiled before the clock starts. The
bar is a ratio to torch's time.
Sizes may be given (`1e3 1e5`), `--only=GLOB` takes some calls, `--threads=N`, and
`--json` prints ratios for programs.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from fnmatch import fnmatch
from typing import Any, Final, NamedTuple

import torch

import dovetail as dt
from benchmarks.function_calls import ROWS, Draw, Row
from benchmarks.timing import Comparison, Progress, compare, option

THREADS: Final = 2  # unless `--threads=N` says otherwise
SIZES: Final = (500, 100_000)
ROUNDS: Final = 5
SECONDS: Final = 0.002  # of a run
WARM: Final = 100  # calls, after which nothing waits to be compiled
WARM_SECONDS: Final = 0.1
BAR: Final = 10.0


class Found(NamedTuple):
    """One comparison: of how many elements."""

    size: int
    comparison: Comparison


def _asking(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        x.detach().clone().requires_grad_()
        if hasattr(x, "dtype") and x.dtype.is_floating_point
        else x
        for x in tensors
    )


def program(lib: Any, row: Row, size: int, back: bool) -> Callable[[], object]:
    """A call of a library's, or one with its gradient for cotangents of one."""
    given = row.given(Draw(lib, size))
    if not back:
        return lambda: row.call(lib, *given)
    given = _asking(given)
    leaves = [x for x in given if getattr(x, "requires_grad", False)]
    ones = lib.ones_like(row.call(lib, *given).detach())

    def run() -> None:
        row.call(lib, *given).backward(ones)
        for x in leaves:
            x.grad = None

    return run


def _prepared(call: Callable[[], object]) -> Callable[[], object]:
    """After the calls that make kernels."""
    end = time.perf_counter() + WARM_SECONDS
    for _ in range(WARM):
        call()
        if time.perf_counter() > end:
            break
    return call


def measure(sizes: tuple[int, ...], threads: int, only: str) -> list[Found]:
    """Every call at every size, those whose names fit a pattern."""
    torch.set_num_threads(threads)
    dt.set_num_threads(threads)
    clock = time.thread_time if threads == 1 else time.perf_counter
    names = [
        (name + " and back" * back, row, back)
        for name, row in ROWS.items()
        for back in ([False, True] if row.back else [False])
        if fnmatch(name + " and back" * back, only)
    ]
    progress = Progress(len(names) * len(sizes))
    found = []
    for size in sizes:
        for name, row, back in names:
            progress.step(f"{name}, {size:,} elements")
            ours, theirs = (_prepared(program(t, row, size, back)) for t in (dt, torch))
            found.append(Found(size, compare(
                name, ours, theirs, BAR, ROUNDS, SECONDS, clock=clock
            )))  # fmt: skip
    progress.end()
    return found


def listed(found: list[Found]) -> str:
    """Microseconds and ratios as a table: the worst first."""
    lines = [f"{'call':34}{'elements':>10}{'ours µs':>11}{'torch µs':>11}{'ratio':>8}"]
    for size, c in sorted(found, key=lambda f: -f.comparison.ratio):
        mark = "" if c.met else "  NOT MET"
        lines.append(
            f"{c.name:34}{size:>10,}{c.ours_s * 1e6:11.1f}{c.theirs_s * 1e6:11.1f}"
            f"{c.ratio:8.2f}{mark}"
        )
    for size in dict.fromkeys(f.size for f in found):
        whole = statistics.geometric_mean(
            [f.comparison.ratio for f in found if f.size == size]
        )
        lines.append(f"geometric mean of {size:,} elements: {whole:.2f}")
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Measure and print; exit status 1 if a bar was not met."""
    named = tuple(int(float(a)) for a in argv if not a.startswith("-"))
    threads = int(option(argv, "threads", str(THREADS)))
    found = measure(named or SIZES, threads, option(argv, "only", "*"))
    if "--json" in argv:
        rows = [{"elements": f.size} | f.comparison.as_dict() for f in found]
        print(json.dumps({"rows": rows, "bar": BAR}, indent=1))
    else:
        print(listed(found))
    return 0 if all(f.comparison.met for f in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
