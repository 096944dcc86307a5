"""Interleaved timing: two programs take turns, so that noise hits both alike."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Final

Program = Callable[[], object]

# Seconds after which threads that have no work have stopped to spin: those of torch's
# OpenMP keep a core for several milliseconds, as if their library still worked.
SETTLES: Final = 0.02


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ours against theirs: seconds a call, their ratio, and the bar it must meet."""

    name: str
    ours_s: float
    theirs_s: float
    ratio: float
    bar: float | None

    @property
    def met(self) -> bool:
        return self.bar is None or self.ratio <= self.bar

    def as_dict(self) -> dict[str, object]:
        return asdict(self) | {"met": self.met}


def per_call(
    program: Program, calls: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Seconds a call over a run of `calls`."""
    loop = range(calls)
    start = clock()
    for _ in loop:
        program()
    return (clock() - start) / calls


def _settled(program: Program, calls: int, clock: Callable[[], float]) -> float:
    """The same once the other library's threads sleep and ours are awake."""
    time.sleep(SETTLES)
    program()
    return per_call(program, calls, clock)


def _warm(program: Program, seconds: float) -> float:
    """Seconds a call, after a few: twenty, or fewer where they take long."""
    program()
    calls = max(1, min(20, int(seconds / max(per_call(program, 1), 1e-9))))
    per_call(program, calls)
    return per_call(program, calls)


def compare(
    name: str, ours: Program, theirs: Program, bar: float | None, rounds: int = 25,
    seconds: float = 0.02,
    within: Callable[[], AbstractContextManager[object]] = nullcontext,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:  # fmt: skip
    """How `rounds` pairs of runs compare, each about `seconds` long.

    The ratio is the worse of two: the median of the pairs', and that of the fastest
    runs. One that stalls now and then shall not make the other look fast.
    Our runs, not theirs, are made within `within()`. `clock` counts the seconds: that
    of a thread alone leaves out what other processes do.
    """
    with within():
        _warm(ours, seconds)
    calls = max(1, int(seconds / _warm(theirs, seconds)))
    gc.collect()
    gc.disable()
    try:
        pairs = []
        for _ in range(rounds):
            with within():
                mine = _settled(ours, calls, clock)
            pairs.append((mine, _settled(theirs, calls, clock)))
    finally:
        gc.enable()
    ours_s, theirs_s = min(a for a, _ in pairs), min(b for _, b in pairs)
    ratio = max(statistics.median(a / b for a, b in pairs), ours_s / theirs_s)
    return Comparison(name, ours_s, theirs_s, ratio, bar)


def table(rows: list[Comparison], theirs: str = "torch") -> str:
    """The comparisons as aligned text."""
    lines = [f"{'program':44}{'ours µs':>10}{theirs + ' µs':>10}{'ratio':>8}{'bar':>7}"]
    for r in rows:
        bar = "" if r.bar is None else f"{r.bar:.2f}"
        mark = "" if r.bar is None else "  met" if r.met else "  NOT MET"
        lines.append(
            f"{r.name:44}{r.ours_s * 1e6:10.2f}{r.theirs_s * 1e6:10.2f}"
            f"{r.ratio:8.2f}{bar:>7}{mark}"
        )
    return "\n".join(lines)


class Progress:
    """A bar on stderr that says how far a benchmark is.

    Args:
        steps: how many there are.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.done = 0

    def step(self, what: str) -> None:
        """Say what is done next."""
        if sys.stderr.isatty():
            full = 30 * self.done // self.steps
            bar = f"[{'#' * full:30}] {self.done}/{self.steps} {what}"
            print(f"\r{bar[:79]:79}", end="", file=sys.stderr, flush=True)
        self.done += 1

    def end(self) -> None:
        """Take the bar away."""
        if sys.stderr.isatty():
            print(f"\r{'':79}\r", end="", file=sys.stderr, flush=True)


def option(argv: list[str], name: str, otherwise: str) -> str:
    """What `--name=value` gives among arguments."""
    start = f"--{name}="
    found = [a.removeprefix(start) for a in argv if a.startswith(start)]
    return found[-1] if found else otherwise


def ratios_drawn(file: str, found: list[tuple[int, Comparison]], title: str) -> None:
    """A picture of ratios by number of elements: each op a dot, their mean a line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.scatter([s for s, _ in found], [c.ratio for _, c in found], s=9, alpha=0.4)
    sizes = list(dict.fromkeys(s for s, _ in found))
    means = [
        statistics.geometric_mean([c.ratio for s, c in found if s == size])
        for size in sizes
    ]
    axes.plot(sizes, means, color="black", marker="o", label="geometric mean")
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="elements", ylabel="ratio", title=title)
    axes.legend()
    figure.savefig(file)
