"""The levels that are open, each around those before it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dovetail.errors import AutogradError, NotSupported

if TYPE_CHECKING:
    from dovetail.engine.levels import LevelBackend


class Level:
    """One transform that is open.

    Attributes:
        name: what errors call it.
        backend: the class of its backends.
    """

    name: ClassVar[str]
    backend: ClassVar[type[LevelBackend]]

    def closed(self) -> None:
        """Called when the level has been left."""

    def draws(self, name: str) -> int:
        """How many times a random function has to draw; 0 where once is for all.

        Raises:
            RandomnessError: it may not.
        """
        return 0


_open: Final[ContextVar[tuple[Any, ...]]] = ContextVar("levels", default=())
open_levels: Final = _open.get


class Opened:
    """Opens a level for a `with` block, whose value is the level's depth."""

    def __init__(self, level: Level) -> None:
        self.level = level

    def __enter__(self) -> int:
        return enter(self.level)

    def __exit__(self, *_: object) -> None:
        leave(self.level)


def enter(level: Level) -> int:
    """Open a level; its depth, counted from 1."""
    _open.set((*_open.get(), level))
    return len(_open.get())


def leave(level: Level) -> None:
    """Close the innermost level.

    Raises:
        AutogradError: it is another one.
    """
    *outer, last = _open.get() or (None,)
    if last is not level:
        raise AutogradError(
            level.name, "level", was="not the innermost one that is open",
            needed="levels that close in the order opposite to that of their opening",
        )  # fmt: skip
    _open.set(tuple(outer))
    last.closed()


@contextmanager
def beneath(depth: int) -> Iterator[None]:
    """Within it, the level of a depth and those above are as if closed.

    What it makes of tensors below is below as well.
    """
    token = _open.set(_open.get()[: depth - 1])
    try:
        yield
    finally:
        _open.reset(token)


def refuse_values(name: str, what: str, remedy: str) -> NotSupported:
    """The error for a function that would depend on values that are many."""
    return NotSupported(
        name, what, was="asked for, within a function of many values at once",
        needed="a function that does not depend on values", remedy=remedy,
    )  # fmt: skip
