"""Profiles: which ops ran, how often and how long."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

from dovetail.errors import CallOrderError

from .collector import Collector, Wanted, record_function
from .events import EventList
from .schedules import ProfilerAction, ProfilerActivity
from .traces import write_trace

_RECORDING: Final = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile:  # noqa: N801  torch's name
    """Records the ops that a program calls, from `start` to `stop`.

    It sees the ops of its thread, those of backward passes too, and the times are the
    host's: what a device does meanwhile has none.

    Args:
        activities: what to record; whatever it says, the host's calls are.
        schedule: tells for each step what to do; without one all is recorded.
        on_trace_ready: called with the profile when a turn of the schedule ends.
        record_shapes: whether to keep the inputs' shapes.
        profile_memory: whether to count the bytes of results.
        with_stack: whether to keep the lines of Python.
        with_flops: whether to count the operations of products of matrices.
        with_modules: taken as torch takes it; modules are not named.
        experimental_config, execution_trace_observer: taken as torch takes them.
        acc_events: whether events of earlier turns are kept.
        use_cuda: taken as torch takes it.
        custom_trace_id_callback: taken as torch takes it.
        post_processing_timeout_s: taken as torch takes it.

    Examples:
        >>> import dovetail as dt
        >>> from dovetail.profiler import profile
        >>> with profile(record_shapes=True) as prof:
        ...     x = dt.ones(2, 3) @ dt.ones(3, 4)
        >>> [e.input_shapes for e in prof.events() if e.name == "matmul"]
        [[[2, 3], [3, 4]]]
    """

    def __init__(
        self, *, activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
        experimental_config: Any = None, execution_trace_observer: Any = None,
        acc_events: bool = False, use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:  # fmt: skip
        self.activities = set(activities or ())
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: Collector | None = None  # of the turn that is, or was, recorded
        self._wanted = Wanted(record_shapes, profile_memory, with_stack, with_flops)
        self._all = acc_events
        self._earlier = EventList()
        self._step: record_function | None = None
        self._about: dict[str, Any] = {}

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with the step that the schedule is at."""
        if self.current_action in _RECORDING:
            self._record()
        self._begin_step()

    def stop(self) -> None:
        """Record no more; what was recorded is ready."""
        self._end_step()
        if self.current_action in _RECORDING:
            self._ready()

    def step(self) -> None:
        """The next step of the program begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        ended = before is ProfilerAction.RECORD_AND_SAVE
        if ended or (before in _RECORDING and self.current_action not in _RECORDING):
            self._ready()
            before = ProfilerAction.NONE
        if self.current_action in _RECORDING and before not in _RECORDING:
            self._record()
        self._begin_step()

    def events(self) -> EventList:
        """The events of the last turn.

        Raises: CallOrderError before anything was recorded.
        """
        if self.profiler is None:
            raise CallOrderError(
                "events", "profile", was="not started, or its schedule did not record",
                needed="a step that was recorded",
            )  # fmt: skip
        return EventList([*self._earlier, *self.profiler.events])

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """Events of one name, added up.

        Args:
            group_by_input_shape: only those with inputs of the same shapes.
            group_by_stack_n: only those with so many lines of Python in common.
        Raises: CallOrderError before anything was recorded.
        """
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file that Chrome and Perfetto show.

        Args:
            path: of the file; compressed if it ends in .gz.
        """
        write_trace(path, self.events(), self._about)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write lines of Python with the time in them, for flame graphs.

        Args:
            path: of the file.
            metric: the attribute of events that is written.
        """
        lines = []
        for event in self.events():
            number = int(getattr(event, metric))
            if event.stack and number > 0:
                frames = [line.replace(" ", "_") for line in reversed(event.stack)]
                lines.append(f"{';'.join(frames)} {number}\n")
        with open(path, "w") as file:
            file.writelines(lines)

    def add_metadata(self, key: str, value: str) -> None:
        """A string that the file of the trace has beside the events."""
        self._about[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same, of a value that is written as JSON."""
        self._about[key] = json.loads(value)

    def _record(self) -> None:
        if self._all and self.profiler is not None:
            self._earlier.extend(self.profiler.events)
        self.profiler = Collector(self._wanted)
        self.profiler.start()

    def _ready(self) -> None:
        if self.profiler is not None:
            self.profiler.stop()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None
