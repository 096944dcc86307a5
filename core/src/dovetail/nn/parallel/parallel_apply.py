"""Modules that are called at the same time, each in a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from threading import Thread
from typing import Any

from dovetail.device_api import current, registry
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from .scatter_gather import DeviceLike


def parallel_apply(
    modules: Sequence[Callable[..., Any]], inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[DeviceLike | None] | None = None,
) -> list[Any]:  # fmt: skip
    """What modules give, each called in a thread of its own, as the caller's modes are.

    Args:
        inputs: for each module its one argument, or a list or tuple of them.
        kwargs_tup: for each module its arguments by name.
        devices: for each module the device that is current for it.

    Raises: ArgumentError if there is not one of everything for each module; what a
        module raises, that of the first that does.
    """
    count = len(modules)
    named = kwargs_tup if kwargs_tup is not None else [{}] * count
    places = devices if devices is not None else [None] * count
    for argument, given in (
        ("inputs", inputs), ("kwargs_tup", named), ("devices", places)
    ):  # fmt: skip
        if len(given) != count:
            raise ArgumentError(
                "parallel_apply", argument, was=f"{len(given)} of them",
                needed=f"one for each of {count} modules",
            )  # fmt: skip
    calls = [_Call(*each) for each in zip(modules, inputs, named, places, strict=True)]
    if count == 1:
        copy_context().run(calls[0].run)
    else:
        threads = [Thread(target=copy_context().run, args=(c.run,)) for c in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return [call.outcome() for call in calls]


class _Call:
    """One call of a module, and what became of it."""

    def __init__(
        self, module: Callable[..., Any], given: Any, named: dict[str, Any],
        place: DeviceLike | None,
    ) -> None:  # fmt: skip
        self._module, self._named, self._place = module, named, place
        self._args = given if isinstance(given, list | tuple) else (given,)
        self._result: Any = None
        self._error: Exception | None = None

    def run(self) -> None:
        """Call the module, with its device as the current one of this context."""
        try:
            if self._place is not None:
                backend, index = registry.resolve(_name_of(self._place))
                current.choose(backend.type, index)
            self._result = self._module(*self._args, **self._named)
        except Exception as error:
            self._error = error

    def outcome(self) -> Any:
        """What the module gave.

        Raises: what it raised.
        """
        if self._error is not None:
            raise self._error
        return self._result


def _name_of(place: DeviceLike) -> Any:
    """A device; a number counts those of the default type."""
    if isinstance(place, int):
        return f"{registry.resolve('auto')[0].type}:{place}"
    return place


def get_a_var(obj: Any) -> Tensor | None:
    """The first tensor in tuples, lists and dicts, None if there is none."""
    if isinstance(obj, Tensor):
        return obj
    items = obj.items() if isinstance(obj, dict) else obj
    if not isinstance(obj, dict | list | tuple):
        return None
    return next((x for x in map(get_a_var, items) if x is not None), None)
