"""What a profile recorded: one event after another, and averages of those alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, NamedTuple

from .tables import table_of, time_text
from .traces import write_trace

Shapes = list[list[int]]


class Interval(NamedTuple):
    """When an event began and ended, in microseconds of a clock of its own."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """How long it took."""
        return self.end - self.start


class _Times:
    """The numbers that events and averages share; times are in microseconds."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    flops: int
    # Devices are waited for by the host, or not at all: theirs is no time of its own.
    device_time_total: Final = 0.0
    self_device_time_total: Final = 0.0
    device_memory_usage: Final = 0
    self_device_memory_usage: Final = 0

    @property
    def cpu_time(self) -> float:
        """The mean time of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """0: only the host's time is taken."""
        return 0.0

    cuda_time: Final = device_time
    cuda_time_total: Final = 0.0
    self_cuda_time_total: Final = 0.0
    cuda_memory_usage: Final = 0
    self_cuda_memory_usage: Final = 0

    def __repr__(self) -> str:
        own, mean = time_text(self.self_cpu_time_total), time_text(self.cpu_time)
        return (
            f"<{type(self).__name__} key={self.key} self_cpu_time={own} "
            f"cpu_time={mean} count={self.count}>"
        )


class FunctionEvent(_Times):
    """One op that was called, or one range of a program's that has a name.

    Attributes:
        name, key: the op's name, or the range's.
        time_range: from its beginning to its end.
        cpu_parent, cpu_children: the event around this one, and those directly in it.
        input_shapes: of its tensors, with `record_shapes`.
        stack: lines of Python, the innermost first, with `with_stack`.
        thread: the thread that it was in.
        is_user_annotation: whether it is a range.
        cpu_memory_usage: bytes of its results, with `profile_memory`.
        flops: multiplications and additions of products of matrices, `with_flops`.
    """

    def __init__(
        self, name: str, start: float, thread: int, parent: FunctionEvent | None = None,
        is_user_annotation: bool = False,
    ) -> None:  # fmt: skip
        self.name = self.key = name
        self.count = 1
        self.time_range = Interval(start, start)
        self.thread = thread
        self.cpu_parent = parent
        self.cpu_children: list[FunctionEvent] = []
        self.input_shapes: Shapes = []
        self.stack: list[str] = []
        self.is_user_annotation = is_user_annotation
        self.self_cpu_memory_usage = 0
        self.flops = 0
        if parent is not None:
            parent.cpu_children.append(self)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]  # what is read
        """Its time, in microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Its time without that of the events in it."""
        inner = sum(child.cpu_time_total for child in self.cpu_children)
        return self.cpu_time_total - inner

    @property
    def cpu_memory_usage(self) -> int:  # type: ignore[override]
        """Its bytes, and those of the events in it."""
        inner = sum(child.cpu_memory_usage for child in self.cpu_children)
        return self.self_cpu_memory_usage + inner


class FunctionEventAvg(_Times):
    """Events of one name, added up."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.flops = 0
        self.input_shapes: Shapes = []
        self.stack: list[str] = []
        self.is_user_annotation = False

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Count one more event, or average."""
        if not self.count:
            self.key = self.key or other.key
            self.input_shapes, self.stack = other.input_shapes, other.stack
            self.is_user_annotation = other.is_user_annotation
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.flops += other.flops
        return self


class EventList(list[Any]):
    """Events, or averages, with what is made of them."""

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all of them, each counted once."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """Averages of the events that are alike.

        Args:
            group_by_input_shapes: only those with inputs of the same shapes.
            group_by_stack_n: only those with so many lines of Python in common.
        """

        def kind(event: Any) -> Hashable:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            return event.key, shapes, tuple(event.stack[:group_by_stack_n])

        averages = _grouped(self, kind)
        for one in averages:
            one.stack = one.stack[:group_by_stack_n]
            one.input_shapes = one.input_shapes if group_by_input_shapes else []
        return averages

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100,
        max_src_column_width: int = 75, max_name_column_width: int = 55,
        max_shapes_column_width: int = 80, header: str | None = None,
        top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """A table of them, one a row.

        Args:
            sort_by: the attribute that orders them, the greatest first.
            row_limit: how many rows, -1 for all.
            max_src_column_width, max_name_column_width, max_shapes_column_width: how
                many characters these columns have at most.
            header: a line above the table.
            top_level_events_only: only events that are in no other.
            time_unit: "s", "ms" or "us"; each time has its own if it is None.
        """
        rows = [e for e in self if not (top_level_events_only and _inside(e))]
        widths = max_name_column_width, max_shapes_column_width, max_src_column_width
        return table_of(rows, sort_by, row_limit, widths, header, time_unit)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file that Chrome and Perfetto show."""
        write_trace(path, self, {})

    def __str__(self) -> str:
        return self.table()


def _inside(event: Any) -> bool:
    return getattr(event, "cpu_parent", None) is not None


def _grouped(events: Iterable[Any], kind: Callable[[Any], Hashable]) -> EventList:
    groups: dict[Hashable, FunctionEventAvg] = {}
    for event in events:
        groups.setdefault(kind(event), FunctionEventAvg(event.key)).add(event)
    return EventList(groups.values())
