"""What `dovetail.engine.levels` has engine ask, once a transform has loaded it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

# Inputs of an op, brought to one level where they are of several.
together: Final[list[Callable[[Sequence[Any]], Sequence[Any]]]] = []
# The kind of what a random function makes, and how many of it, where levels are open.
drawn: Final[list[Callable[[str, Any, Any], tuple[Any, Any, int]]]] = []

# A tensor that a function made, as one that may be written at the levels that are open.
written_later: Final[list[Callable[[Any], Any]]] = []
# Brings a tensor to the level of what is written into it, where it may; gives that.
raised: Final[list[Callable[[Any, Any], Any]]] = []
# Copies what nodes of the levels below keep of a tensor that is about to be written.
kept_below: Final[list[Callable[[Any, Any, int], None]]] = []

# The backend of the level that a tensor is of, None for what stands for itself.
level_of: Final[list[Callable[[Any], Any]]] = []

# What runs a user's Function at a level: its results in a tuple, or None.
function_rules: Final[list[Callable[..., tuple[Any] | None]]] = []


def of_all_rows(x: Any) -> Any:
    """The values of all rows that a tensor may stand for, as one that is read at once.

    For checks, and for loops that go on until all rows are done.
    """
    while (level := _level_of(x)) is not None:
        x = level.held(x._a)[0]
    return x


def _level_of(x: Any) -> Any:
    return level_of[0](x) if level_of else None


def cut_below(made: Any) -> None:
    """Cut what a tensor stands for off the graphs and tangents of all its levels.

    The tensor is an alias; its memory stays what it is.
    """
    level = _level_of(made)
    if level is not None:
        made._a = level.detached(made._a)


def value_at(x: Any, backend: Any) -> Any:
    """A tensor without the tangents that it has at levels above that of a backend."""
    while x._kind.backend is not backend:
        level = _level_of(x)
        inner = None if level is None else level.without_tangent(x._a)
        if inner is None:
            break
        x = inner
    return x


def gathered(inputs: Sequence[Any]) -> Sequence[Any]:
    """Inputs of one level."""
    return together[0](inputs) if together else inputs


def drawing(name: str, kind: Any, lead: Any) -> tuple[Any, Any, int]:
    """The kind of what a random function makes, its lead, and how many of each."""
    return drawn[0](name, kind, lead) if drawn else (kind, lead, 1)
