"""What `dovetail.engine.levels` has engine ask, once a transform has loaded it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

# Inputs of an op, brought to one level where they are of several.
together: Final[list[Callable[[Sequence[Any]], Sequence[Any]]]] = []
# The kind of what a random function makes, and how many of it, where levels are open.
drawn: Final[list[Callable[[str, Any, Any], tuple[Any, Any, int]]]] = []

# What runs a user's Function at a level: its results in a tuple, or None.
function_rules: Final[list[Callable[..., tuple[Any] | None]]] = []


def gathered(inputs: Sequence[Any]) -> Sequence[Any]:
    """Inputs of one level."""
    return together[0](inputs) if together else inputs


def drawing(name: str, kind: Any, lead: Any) -> tuple[Any, Any, int]:
    """The kind of what a random function makes, its lead, and how many of each."""
    return drawn[0](name, kind, lead) if drawn else (kind, lead, 1)
