"""What steps are given: functions, columns, other pipes, numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sized
from typing import Any

from dovetail.errors import ArgumentError, ArgumentTypeError, NotSupported


class NoLength(NotSupported, TypeError):
    """A pipe has no length: how many items there are is not known before."""


def length_of(pipe: Any, source: Any) -> int:
    """The number of items of the pipe that another one reads.

    Raises: NoLength, a TypeError, where it has none.
    """
    if isinstance(source, Sized):
        return len(source)
    raise no_length(pipe)


def no_length(pipe: Any) -> NoLength:
    """The error for a pipe without a length."""
    return NoLength(
        type(pipe).__name__, "length", was="not known before",
        needed="a source that has one",
    )  # fmt: skip


def check_pipes(step: str, pipes: tuple[Any, ...], kind: type, empty: bool) -> None:
    """Raise for what is no pipe, and where there is none."""
    if not pipes and not empty:
        raise ArgumentError(step, "datapipes", was="empty", needed="at least one")
    for pipe in pipes:
        if not isinstance(pipe, kind):
            raise ArgumentTypeError(
                step, "one of datapipes", was=f"a {type(pipe).__name__}",
                needed=f"an {kind.__name__}",
            )  # fmt: skip


def check_positive(step: str, name: str, number: int) -> None:
    """Raise for a number below 1."""
    if number < 1:
        raise ArgumentError(step, name, was=number, needed="a number larger than 0")


def check_columns(step: str, fn: Any, columns: Any) -> None:
    """Raise for a function that cannot be called with as many columns.

    Raises: ArgumentTypeError for what cannot be called, ArgumentError for the rest.
    """
    if not callable(fn):
        raise ArgumentTypeError(
            step, "fn", was=f"a {type(fn).__name__}", needed="a function"
        )
    try:
        signature = inspect.signature(fn)
    except (ValueError, TypeError):  # one in C may have none
        return
    count = len(columns) if isinstance(columns, list | tuple) else 1
    try:
        signature.bind(*range(count))
    except TypeError as error:
        raise ArgumentError(
            step, "fn", was=f"one that takes other arguments: {error}",
            needed=f"a function that can be called with {count} by place",
        ) from None  # fmt: skip


def applied(fn: Callable[..., Any], item: Any, columns: Any) -> Any:
    """The function of an item, or of its columns."""
    if columns is None:
        return fn(item)
    if isinstance(columns, list | tuple):
        return fn(*[item[c] for c in columns])
    return fn(item[columns])
