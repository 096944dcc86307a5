"""Attributes that follow from others, where they were not given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class derived:  # noqa: N801  used as `property` is
    """A parameter that is computed from others each time, unless it was given.

    What was given is an attribute of the instance, which hides this one.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else self._function(instance)
