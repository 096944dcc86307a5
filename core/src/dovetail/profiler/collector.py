"""What listens to ops and to named ranges while a profile is recorded."""

from __future__ import annotations

import functools
import math
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from dovetail.engine import scopes
from dovetail.engine.tensor import Tensor

from .events import EventList, FunctionEvent, Interval

_PACKAGE: Final = "dovetail."
_WRITTEN: Final = ("<call of ", "<record of ")  # code that ops are called by
# Collectors that record now, which ranges tell of themselves.
_open: Final[list[Collector]] = []


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is kept of each op beside its time."""

    shapes: bool = False
    memory: bool = False
    stack: bool = False
    flops: bool = False


class Collector:
    """Records the ops of a context, and the ranges of the process, as events."""

    def __init__(self, wanted: Wanted) -> None:
        self.events = EventList()
        self._wanted = wanted
        self._inside = threading.local()  # the event that a thread is in
        self._scope: AbstractContextManager[None] | None = None

    def start(self) -> None:
        """Record from now on."""
        self._scope = scopes.interpose(self)
        self._scope.__enter__()
        _open.append(self)

    def stop(self) -> None:
        """Record no more."""
        if self._scope is not None:
            _open.remove(self)
            self._scope.__exit__(None, None, None)
            self._scope = None

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], attrs: dict[str, Any],
        proceed: Callable[..., Any],
    ) -> Any:  # fmt: skip
        """An op is called: let it run, and take the time."""
        event = self.begin(op.name)
        if self._wanted.shapes:
            event.input_shapes = _shapes_of(inputs)
        if self._wanted.stack:
            event.stack = _lines_of_python()
        if self._wanted.flops:
            event.flops = _flops(op.name, _shapes_of(inputs))
        try:
            result = proceed(inputs, attrs)
            if self._wanted.memory:
                event.self_cpu_memory_usage = _bytes_of(proceed)
            return result
        finally:
            self.end(event)

    def begin(self, name: str, of_user: bool = False) -> FunctionEvent:
        """An event that began now, in the one that this thread is in."""
        parent = getattr(self._inside, "event", None)
        event = FunctionEvent(name, _now(), threading.get_ident(), parent, of_user)
        self.events.append(event)
        self._inside.event = event
        return event

    def end(self, event: FunctionEvent) -> None:
        """An event ended now; its thread is in the one around it again."""
        event.time_range = Interval(event.time_range.start, _now())
        self._inside.event = event.cpu_parent


class record_function:  # noqa: N801  torch's name
    """A named range of a program: what runs in it shows in profiles as one event.

    Use it as a context manager, or as the decorator of a function.

    Args:
        name: of the range.
        args: taken as torch takes it; not shown.

    Examples:
        >>> import dovetail as dt
        >>> from dovetail.profiler import profile, record_function
        >>> with profile() as prof:
        ...     with record_function("double"):
        ...         x = dt.ones(3) * 2
        >>> [event.count for event in prof.key_averages() if event.key == "double"]
        [1]
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._begun: list[tuple[Collector, FunctionEvent]] = []

    def __enter__(self) -> record_function:
        self._begun = [(c, c.begin(self.name, of_user=True)) for c in _open]
        return self

    def __exit__(self, *_: object) -> None:
        for collector, event in self._begun:
            collector.end(event)
        self._begun = []

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def ranged(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return func(*args, **kwargs)

        return ranged


def _now() -> float:
    return time.perf_counter_ns() / 1e3


def _shapes_of(inputs: tuple[Any, ...]) -> list[list[int]]:
    """The shapes of tensors; what is no tensor has none."""
    return [list(x.shape) if isinstance(x, Tensor) else [] for x in inputs]


def _bytes_of(proceed: Any) -> int:
    return sum(
        x.numel() * x.element_size() for x in proceed.outs if isinstance(x, Tensor)
    )


def _lines_of_python() -> list[str]:
    """The lines of the program that the call came from, the innermost first."""
    lines = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        code, module = frame.f_code, frame.f_globals.get("__name__", "")
        if not module.startswith(_PACKAGE) and not code.co_filename.startswith(
            _WRITTEN
        ):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines


def _flops(name: str, shapes: list[list[int]]) -> int:
    """Twice the products of a product of matrices, 0 of any other op."""
    if name == "linear" and shapes[0]:
        return 2 * math.prod(shapes[0]) * shapes[1][0]
    if name == "matmul" and shapes[0] and shapes[1]:
        columns = shapes[1][-1] if len(shapes[1]) > 1 else 1
        rows = math.prod(shapes[0]) if len(shapes[0]) >= len(shapes[1]) else (
            math.prod(shapes[1][:-2]) * math.prod(shapes[0][-2:])
        )  # fmt: skip
        return 2 * rows * columns
    return 0
