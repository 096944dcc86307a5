"""`torch.cuda.nvtx`: ranges of NVIDIA's profiler, which are shown by ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from dovetail.profiler import record_function

_open: Final[list[Any]] = []


def range_push(msg: str) -> int:
    """Begin a range within those that are open; how many there were."""
    entered = record_function(msg)
    entered.__enter__()
    _open.append(entered)
    return len(_open) - 1


def range_pop() -> int:
    """End the range that began last; how many are left, or -1 if none was open."""
    if not _open:
        return -1
    _open.pop().__exit__(None, None, None)
    return len(_open)


def mark(msg: str) -> None:
    """A range of no length."""
    with record_function(msg):
        pass


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range as long as a block of code."""
    with record_function(msg.format(*args, **kwargs)):
        yield
