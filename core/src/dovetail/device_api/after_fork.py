"""After a fork: what a parent's driver state cannot serve is refused in the child."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from inspect import isfunction
from typing import Any, Final, NoReturn

from dovetail.device_api import registry
from dovetail.device_api.contract import Backend
from dovetail.errors import DeviceError

_listeners: Final[list[Callable[[Backend, DeviceError], None]]] = []


def on_lost(listener: Callable[[Backend, DeviceError], None]) -> None:
    """Call `listener` with a backend that must not be used any more, and why."""
    _listeners.append(listener)


def _after_fork() -> None:
    """In a child process, refuse what its parent's driver state cannot serve."""
    for backend in registry.loaded():
        if not backend.fork_safe:
            error = DeviceError(
                "device", backend.type,
                was="used in a process that was forked after its start",
                needed="a process that starts the device itself",
                remedy='start workers with multiprocessing.get_context("spawn")',
            )  # fmt: skip
            registry.lose(backend.type, error)
            _refuse(backend, error)
            for listener in _listeners:
                listener(backend, error)


def _refuse(backend: Backend, error: DeviceError) -> None:
    """Make every method that reaches the device raise, those of capabilities too."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise error

    for method in (*Backend.__abstractmethods__, *_of_capabilities(backend)):
        setattr(backend, method, refuse)


def _of_capabilities(backend: Backend) -> Iterator[str]:
    """The names of what a backend has by capabilities of ours: streams, pools …"""
    for base in type(backend).__mro__:
        ours = base.__module__.startswith("dovetail.device_api.")
        if ours and not issubclass(base, Backend):
            for name, value in vars(base).items():
                if isfunction(value) and not name.startswith("_"):
                    yield name


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
