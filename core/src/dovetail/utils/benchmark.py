"""How long statements take: torch.utils.benchmark."""

from __future__ import annotations

import timeit
import typing as _typing
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import mean, median, quantiles
from typing import Any

from dovetail import accelerator
from dovetail.codegen.runtime.threads import get_num_threads, set_num_threads
from dovetail.engine.missing_names import missing_name as _missing_name

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def timer() -> float:
    """Seconds by a clock, once the current accelerator has done its work."""
    if accelerator.is_available():
        accelerator.synchronize()
    return timeit.default_timer()


def _text(seconds: float) -> str:
    size, unit = next((u for u in _UNITS if seconds >= u[0]), _UNITS[-1])
    return f"{seconds / size:.2f} {unit}"


@dataclass(frozen=True)
class TaskSpec:
    """What was timed.

    Attributes:
        num_threads: how many threads the CPU had.
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """What it is called in tables."""
        label = self.label or self.stmt
        return label if self.sub_label is None else f"{label}: {self.sub_label}"


@dataclass
class Measurement:
    """Times of a statement.

    Attributes:
        number_per_run: how often it was executed for each time.
        raw_times: seconds, of all executions of a run together.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        """Seconds an execution."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The middle one of the times."""
        return median(self.times)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return mean(self.times)

    @property
    def iqr(self) -> float:
        """From the first quarter of the times to the last."""
        if len(self.raw_times) < 2:
            return 0.0
        first, _, last = quantiles(self.times, n=4, method="inclusive")
        return last - first

    @property
    def title(self) -> str:
        """What it is called in tables."""
        return self.task_spec.title

    @property
    def num_threads(self) -> int:
        """How many threads the CPU had."""
        return self.task_spec.num_threads

    def __repr__(self) -> str:
        runs, threads = len(self.raw_times), self.num_threads
        middle = f"Median: {_text(self.median)}\n  IQR:    {_text(self.iqr)}"
        found = middle if runs > 1 else _text(self.median)
        counted = (
            f"{runs} measurement{'s' if runs > 1 else ''}, {self.number_per_run} runs"
        )
        used = f"{threads} thread{'s' if threads > 1 else ''}"
        return (
            f"<{__name__}.Measurement object at {id(self):#x}>\n{self.title}\n"
            f"  {found}\n  {counted} {'per measurement' if runs > 1 else ''}, {used}"
        )


class Timer:
    """Times a statement, as `timeit` does, with one thread unless told otherwise.

    Args:
        stmt: what is timed.
        setup: what runs before it, once a run.
        global_setup: taken for torch's sake, where it is code of C++.
        timer: gives seconds.
        globals: what the code finds by names.
        label, sub_label, description, env: what tables say of it.
        num_threads: how many threads the CPU has meanwhile.
    """

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
        timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None,
        label: str | None = None, sub_label: str | None = None,
        description: str | None = None, env: str | None = None, num_threads: int = 1,
        language: Any = "py",
    ) -> None:  # fmt: skip
        self._timer = timeit.Timer(stmt, setup, timer, globals or {})
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _run(self, number: int) -> float:
        before = get_num_threads()
        set_num_threads(self._task_spec.num_threads)
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            set_num_threads(before)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One time, of many executions together, after a few that do not count."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._task_spec)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None,
        min_run_time: float = 0.2,
    ) -> Measurement:  # fmt: skip
        """Times of runs as long as a thousandth of what all take, or longer."""
        number = 1
        while self._run(number) < min_run_time / 1000:
            number *= 10
        times: list[float] = []
        while sum(times) < min_run_time or not times:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:  # fmt: skip
        """Times until their quarters lie within a share of the middle."""
        found = self.blocked_autorange(callback, min_run_time)
        while sum(found.raw_times) < max_run_time:
            if len(found.raw_times) > 3 and found.iqr / found.median < threshold:
                break
            more = self.blocked_autorange(callback, min_run_time)
            per_run = [t * found.number_per_run for t in more.times]
            found.raw_times += per_run
        return found


class Compare:
    """A table of measurements: a row for each label, a column for each description."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: list[Measurement]) -> None:
        """Add to the table."""
        self._results += results

    def trim_significant_figures(self) -> None:
        """Taken for torch's sake: three figures are shown."""

    def colorize(self, rowwise: bool = False) -> None:
        """Taken for torch's sake: nothing is coloured."""

    def __str__(self) -> str:
        columns = list(
            dict.fromkeys(r.task_spec.description or "" for r in self._results)
        )
        rows = list(dict.fromkeys((r.title, r.num_threads) for r in self._results))
        cells = {
            (r.title, r.num_threads, r.task_spec.description or ""): _text(r.median)
            for r in self._results
        }
        lines = [["", *columns]]
        for title, threads in rows:
            found = [cells.get((title, threads, column), "") for column in columns]
            lines.append([f"{title} ({threads} threads)", *found])
        wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = (zip(line, wide, strict=True) for line in lines)
        return "\n".join(" | ".join(c.ljust(w) for c, w in line) for line in shown)

    def print(self) -> None:
        """Print the table."""
        print(self)


__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "timer"]

__path__: list[str] = []  # torch has modules below
if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
