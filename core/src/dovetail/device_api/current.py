"""The current device of each type, and what device strings stand for in a context.

`"cuda"` means the current device of that type: the first one, unless this context (a
thread or a task) chose another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final


class Choice:
    """Devices that contexts chose, and the device strings resolved under them.

    Attributes:
        indices: by device type; types are missing whose first device is meant.
        resolved: backend and index by device string; emptied where backends come or go.
    """

    __slots__ = ("indices", "resolved")

    def __init__(self, indices: Mapping[str, int]) -> None:
        self.indices = indices
        self.resolved: dict[str, tuple[Any, int]] = {}


_FIRST: Final = Choice(MappingProxyType({}))
# All that there have been, by what they chose: a block in a loop finds its own again.
_choices: Final[dict[frozenset[tuple[str, int]], Choice]] = {frozenset(): _FIRST}
choice: Final[ContextVar[Choice]] = ContextVar("current_devices", default=_FIRST)
"""What holds in this context."""


def choose(type: str, index: int) -> Choice:
    """Make a device the current one of its type in this context; gives what was."""
    before = choice.get()
    indices = {**before.indices, type: index}
    key = frozenset(indices.items())
    choice.set(_choices.setdefault(key, Choice(MappingProxyType(indices))))
    return before


def forget() -> None:
    """Drop what strings were resolved to: a backend came or went."""
    for found in list(_choices.values()):
        found.resolved.clear()
