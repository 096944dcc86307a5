"""What makes the host wait for the device, counted by the op whose kernel asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from dovetail.device_api.kernels import Kernel

counted: Final[Counter[tuple[str, str]]] = Counter()
"""How often a kernel waited: by its op, and by what it asked for."""
_op: Final[ContextVar[str]] = ContextVar("op", default="")


def wait(what: str) -> None:
    """Count that the host needs a value now."""
    counted[_op.get(), what] += 1


def watched(kernel: Kernel) -> Kernel:
    """The kernel, known by its op while it runs."""
    if not kernel.binds:
        return kernel._replace(function=_within(kernel.op, kernel.function))

    def bind(**attrs: Any) -> Callable[..., Any]:
        with _running(kernel.op):
            return _within(kernel.op, kernel.function(**attrs))

    return kernel._replace(function=bind)


def _within(op: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*natives: Any, **attrs: Any) -> Any:
        with _running(op):
            return function(*natives, **attrs)

    return call


@contextmanager
def _running(op: str) -> Iterator[None]:
    token = _op.set(op)
    try:
        yield
    finally:
        _op.reset(token)
