"""The rule of iterable pipes: the iterator made last is the only one that goes on."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from dovetail.errors import CallOrderError


class StaleIterator(CallOrderError):
    """An iterator of a pipe of which another one was made since."""


def begun(pipe: Any) -> int:
    """Let a new iterator of a pipe be the valid one, and reset the pipe."""
    turn: int = getattr(pipe, "_turn", 0) + 1
    pipe._turn = turn
    pipe.reset()
    return turn


def check(pipe: Any, turn: int) -> None:
    """Raise for an iterator that is no longer the valid one.

    Raises: StaleIterator, a RuntimeError.
    """
    if pipe._turn != turn:
        raise StaleIterator(
            type(pipe).__name__, "iterator",
            was="invalidated: another iterator has been created from the same pipe",
            needed="the one that was made last",
            remedy="use .fork() to read a pipe in several places",
        )  # fmt: skip


def ruled(method: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """An `__iter__` whose iterators follow the rule.

    That of a generator function begins with its first item, any other at once.
    """
    if getattr(method, "_ruled", False):
        return method

    @functools.wraps(method)
    def generates(pipe: Any) -> Iterator[Any]:
        return _checked(pipe, begun(pipe), method(pipe))

    @functools.wraps(method)
    def returns(pipe: Any) -> Iterator[Any]:
        iterator = method(pipe)
        return _Checked(pipe, begun(pipe), iterator)

    @functools.wraps(method)
    def lazily(pipe: Any) -> Iterator[Any]:
        yield from generates(pipe)

    found = lazily if inspect.isgeneratorfunction(method) else returns
    found._ruled = True  # type: ignore[attr-defined]
    return found


def _checked(pipe: Any, turn: int, items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        yield item
        check(pipe, turn)


class _Checked:
    """An iterator that is asked whether it is still valid before each item."""

    def __init__(self, pipe: Any, turn: int, iterator: Iterator[Any]) -> None:
        self.pipe, self.turn, self.iterator = pipe, turn, iterator

    def __iter__(self) -> _Checked:
        return self

    def __next__(self) -> Any:
        check(self.pipe, self.turn)
        return next(self.iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.iterator, name)
