"""Profiles, as torch.autograd had them first: without steps."""

from __future__ import annotations

import typing as _typing
from typing import Any

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.errors import CallOrderError, NotSupported
from dovetail.profiler import (
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    record_function,
)
from dovetail.profiler import profile as _profile


class _External:
    """What tells a profiler of another process of every op; there is none here."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        if enabled:
            raise NotSupported(
                type(self).__name__, "enabled", was="True",
                needed="False: ops are not told to other profilers",
                remedy="dovetail.profiler.profile records them",
            )  # fmt: skip

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


class emit_nvtx(_External):  # noqa: N801  torch's name
    """Ranges of NVIDIA's profiler for all ops: refused unless it is not enabled."""


class emit_itt(_External):  # noqa: N801  torch's name
    """Ranges of Intel's profiler for all ops: refused unless it is not enabled."""


class profile:  # noqa: N801  torch's name
    """Records the ops that are called within it; see `dovetail.profiler.profile`.

    Args:
        enabled: whether to record at all.
        use_cuda, use_device, use_kineto, use_cpu: taken as torch takes them; the
            host's calls are recorded.
        record_shapes: whether to keep the inputs' shapes.
        with_flops: whether to count the operations of products of matrices.
        profile_memory: whether to count the bytes of results.
        with_stack: whether to keep the lines of Python.
        with_modules, experimental_config, custom_trace_id_callback: taken as torch
            takes them.
        acc_events: whether events of earlier uses are kept.
    """

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False,
        use_device: str | None = None, record_shapes: bool = False,
        with_flops: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_modules: bool = False, use_kineto: bool = False,
        use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
        custom_trace_id_callback: Any = None,
    ) -> None:  # fmt: skip
        self.enabled = enabled
        self._profile = _profile(
            record_shapes=record_shapes, with_flops=with_flops, with_stack=with_stack,
            profile_memory=profile_memory, acc_events=acc_events,
        )  # fmt: skip

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        self._profile.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.enabled:
            self._profile.stop()

    @property
    def function_events(self) -> EventList:
        """The events.

        Raises: CallOrderError where nothing was recorded.
        """
        if not self.enabled:
            raise CallOrderError(
                "function_events", "profile", was="not enabled", needed="enabled=True"
            )
        return self._profile.events()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, in microseconds, each counted once."""
        return self.function_events.self_cpu_time_total

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """Events of one name, added up."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        return self.function_events.total_average()

    def table(self, *args: Any, **options: Any) -> str:
        """A table of the events, see `EventList.table`."""
        return self.function_events.table(*args, **options)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file that Chrome and Perfetto show."""
        self._profile.export_chrome_trace(path)

    def __str__(self) -> str:
        return str(self._profile.events()) if self.enabled else "<profile>"


__all__ = [
    "EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx",
    "profile", "record_function",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
