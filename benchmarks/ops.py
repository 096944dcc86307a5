"""Ops on 10² to 10⁷ elements, beside torch and NumPy on the CPU.

All take turns in one process, on as many threads. The bars are ratios to torch's time
at a million elements: one for each op, and one for the geometric mean of all. What is
compiled is compiled before the clock starts. With `--threads=1` it is the thread's own
clock, so that other processes do not count. `--vast` adds 10⁸ elements (8 GiB).
Sizes may be given (`1e3 1e6`), `--only=GLOB` takes some ops, `--picture=FILE` draws the
ratios, `--json` prints them for programs.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from fnmatch import fnmatch
from typing import Any, Final, NamedTuple

import torch

import dovetail as dt
from benchmarks.op_calls import CALLS, NUMPY, Data, Make
from benchmarks.timing import Comparison, Progress, compare, option, ratios_drawn

THREADS: Final = 2  # unless `--threads=N` says otherwise
SIZES: Final = tuple(10**k for k in range(2, 8))
VAST: Final = 10**8
BAR_AT: Final = 10**6
ROUNDS: Final = 7
SECONDS: Final = 0.004  # of a run

WARM: Final = 200  # calls, after which nothing waits to be compiled
WARM_SECONDS: Final = 0.2  # after which what waits for so many calls is not waited for

WORST: Final = 1.5
MEAN: Final = 0.75
BARS: Final = {
    **dict.fromkeys(("exp", "tanh", "gelu", "silu"), 0.9),
    **dict.fromkeys(("softmax", "layer_norm", "var(-1)", "var(0)"), 0.8),
    **dict.fromkeys(("sum", "sum(0)", "sum(-1)"), 0.8),
    **dict.fromkeys(("cumsum", "t().contiguous()"), 0.7),
    **dict.fromkeys(("sort", "topk", "randn", "dropout", "cross_entropy"), 1.0),
    **dict.fromkeys(("embedding", "bmm", "conv2d"), 1.0),
}
"""Those of all others are `WORST`."""


class Row(NamedTuple):
    """One comparison: of how many elements, with whom."""

    size: int
    peer: str
    comparison: Comparison


def measure(sizes: tuple[int, ...], threads: int, only: str) -> list[Row]:
    """Every call at every size, those whose names fit a pattern."""
    torch.set_num_threads(threads)
    dt.set_num_threads(threads)
    named = {name: make for name, make in CALLS.items() if fnmatch(name, only)}
    progress = Progress(len(named) * len(sizes))
    found = []
    for size in sizes:
        mine, theirs = Data(dt, size), Data(torch, size)
        for name, make in named.items():
            progress.step(f"{name}, {size:,} elements")
            bar = BARS.get(name, WORST) if size == BAR_AT else None
            call = make(mine)
            _prepare(call)
            found.append(
                Row(size, "torch", _compared(name, call, make(theirs), bar, threads))
            )
            of_numpy: Make | None = NUMPY.get(name)
            if of_numpy is not None:
                peer = of_numpy(mine)
                found.append(
                    Row(size, "numpy", _compared(name, call, peer, None, threads))
                )
    progress.end()
    return found


def _prepare(call: Any) -> None:
    """Call it until all kernels are there that it is served by once it is repeated."""
    end = time.perf_counter() + WARM_SECONDS
    for _ in range(WARM):
        call()
        if time.perf_counter() > end:
            break


def _compared(
    name: str, ours: Any, theirs: Any, bar: float | None, threads: int
) -> Comparison:
    clock = time.thread_time if threads == 1 else time.perf_counter
    return compare(name, ours, theirs, bar, rounds=ROUNDS, seconds=SECONDS, clock=clock)


def mean(found: list[Row], size: int, peer: str) -> float:
    """The geometric mean of the ratios of a size."""
    ratios = [r.comparison.ratio for r in found if (r.size, r.peer) == (size, peer)]
    return statistics.geometric_mean(ratios)


def missed(found: list[Row]) -> list[str]:
    """The bars that were not met, in words."""
    lines = [
        f"{r.comparison.name}: {r.comparison.ratio:.2f}, needed {r.comparison.bar}"
        for r in found
        if not r.comparison.met
    ]
    if len({r.comparison.name for r in found}) == len(CALLS) and any(
        r.size == BAR_AT for r in found
    ):
        whole = mean(found, BAR_AT, "torch")
        if whole > MEAN:
            lines.append(f"geometric mean: {whole:.2f}, needed {MEAN}")
    return lines


def listed(found: list[Row]) -> str:
    """Ratios as a table: a row a call, a column a size; and their geometric mean."""
    sizes = list(dict.fromkeys(r.size for r in found))
    lines = [f"{'':26}" + "".join(f"{size:>12,}" for size in sizes) + f"{'bar':>7}"]
    for peer in dict.fromkeys(r.peer for r in found):
        lines.append(f"time over {peer}'s")
        ratios = {(r.comparison.name, r.size): r for r in found if r.peer == peer}
        for name in dict.fromkeys(name for name, _ in ratios):
            row = [ratios[name, size].comparison for size in sizes]
            bars = [f"{c.bar:.2f}" for c in row if c.bar is not None]
            shown = "".join(f"{c.ratio:12.2f}" for c in row) + "".join(
                f"{bar:>7}" for bar in bars
            )
            lines.append(f"  {name:24}{shown}")
        means = "".join(f"{mean(found, size, peer):12.2f}" for size in sizes)
        bar = f"{MEAN:7.2f}" if peer == "torch" and BAR_AT in sizes else ""
        lines.append(f"  {'geometric mean':24}{means}{bar}")
    return "\n".join([*lines, *(f"NOT MET: {line}" for line in missed(found))])


def main(argv: list[str]) -> int:
    """Measure, print, and say by the exit status whether the bars were met.

    Arguments: numbers of elements, `--threads=N`, `--only=PATTERN`, `--vast`, `--json`,
    `--picture=FILE`.
    """
    named = tuple(int(float(a)) for a in argv if not a.startswith("-"))
    sizes = (named or SIZES) + ((VAST,) if "--vast" in argv else ())
    threads = int(option(argv, "threads", str(THREADS)))
    found = measure(sizes, threads, option(argv, "only", "*"))
    picture = option(argv, "picture", "")
    if picture:
        ratios_drawn(
            picture, [(r.size, r.comparison) for r in found if r.peer == "torch"],
            f"time over torch's, {threads} threads",
        )  # fmt: skip
    if "--json" in argv:
        rows = [
            {"elements": r.size, "peer": r.peer} | r.comparison.as_dict() for r in found
        ]
        print(json.dumps({"rows": rows, "missed": missed(found)}, indent=1))
    else:
        print(listed(found))
        if "--vast" not in argv and not named:
            print(f"{VAST:,} elements are left out; --vast adds them")
    return 1 if missed(found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
