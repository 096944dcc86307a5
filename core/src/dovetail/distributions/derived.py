"""Attributes that follow from others, where they were not given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.engine.modes import enable_grad


class derived:  # noqa: N801  used as `property` is
    """A parameter that is computed from others once, unless it was given.

    What was given or computed is an attribute of the instance, which hides this one.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self._function(instance)
        instance.__dict__[self._function.__name__] = value
        return value
