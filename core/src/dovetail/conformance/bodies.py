"""What bodies call, and what they cost: all of them run through a wrapper meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from dovetail.conformance.example import Example
from dovetail.conformance.reference import reference
from dovetail.conformance.subject import Subject
from dovetail.conformance.workloads import WORKLOADS
from dovetail.device_api import Unwritten
from dovetail.dtypes import bool_, float32, int32
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op, declared
from dovetail.errors import DovetailError

_STEPS: Final = 3
_CASES: Final = 2
Body = Callable[..., Any]


@contextmanager
def _bodies(wrapped: Callable[[Op, Body], Body]) -> Iterator[None]:
    """Let every body run through a wrapper meanwhile."""
    before = {op: op.body for op in declared()}
    try:
        for op, body in before.items():
            op.body = wrapped(op, body)
        yield
    finally:
        for op, body in before.items():
            op.body = body


@lru_cache(maxsize=1)
def parts() -> dict[str, frozenset[str]]:
    """By op, the bodies that its own runs, when nothing but primitives is native."""
    heard: set[str] = set()

    def heeded(op: Op, body: Body) -> Body:
        def run(*args: Any, **kwargs: Any) -> Any:
            heard.add(op.name)
            return body(*args, **kwargs)

        return run

    found = {}
    with _bodies(heeded):
        for op in declared():
            heard.clear()
            _run_some(op)
            found[op.name] = frozenset(heard - {op.name})
    return found


def _run_some(op: Op) -> None:
    """A few of an op's cases, on the reference device."""
    device = reference()
    dtype = next((d for d in (float32, int32, bool_) if d in op.accepts), None)
    for case in islice(cases_of(op, dtype), _CASES) if dtype else ():
        with suppress(DovetailError):
            device.run(op, Example(case), dtype or float32)


def measure(device: str) -> dict[str, dict[str, float]]:
    """By model and op without a kernel, the part of a training step spent in it.

    Every body waits for the device before and after, so that asynchronous work is
    charged to the op that asked for it.
    """
    subject = Subject(device)
    found: dict[str, dict[str, float]] = {}
    for work in WORKLOADS:
        with suppress(DovetailError, Unwritten):  # what it cannot run yet
            step, inputs = work.step(device)
            step(*inputs)  # the first call makes plans
            clock = _Clock(subject)
            with _bodies(clock.around):
                started = clock.now()
                for _ in range(_STEPS):
                    step(*inputs)
                total = clock.now() - started
            found[work.name] = {op: t / total for op, t in clock.spent.items()}
    return found


class _Clock:
    """Charges time to the ops that run by their bodies, what they call included."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.spent: dict[str, float] = {}
        self.open: list[str] = []

    def now(self) -> float:
        self.subject.backend.synchronize(self.subject.index)
        return time.perf_counter()

    def around(self, op: Op, body: Body) -> Body:
        """The body, timed, but within itself."""

        def run(*args: Any, **kwargs: Any) -> Any:
            if op.name in self.open:
                return body(*args, **kwargs)
            self.open.append(op.name)
            started = self.now()
            try:
                return body(*args, **kwargs)
            finally:
                self.open.pop()
                spent = self.now() - started
                self.spent[op.name] = self.spent.get(op.name, 0.0) + spent

        return run


__all__ = ["measure", "parts"]
