"""Functions that are there in name only: what a new backend has still to write."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail.device_api.contract import Backend
from dovetail.device_api.dense import DenseBackend
from dovetail.device_api.dense_kernels import Adapted
from dovetail.device_api.kernels import KernelTable, Unwritten


def unwritten(table: KernelTable) -> list[str]:
    """The ops of which every kernel is still to be written."""
    return [
        op
        for op in table.names()
        if all(is_unwritten(kernel.function) for kernel in table.rivals(op))
    ]


def methods(backend: Backend) -> dict[str, bool]:
    """The methods that a backend's class has to supply, and whether it did."""
    base = DenseBackend if isinstance(backend, DenseBackend) else Backend
    declared = {**vars(Backend), **vars(base)}
    return {
        name: not is_unwritten(getattr(type(backend), name))
        for name in declared
        if name in base.__abstractmethods__
    }


def is_unwritten(function: Callable[..., Any]) -> bool:
    """Whether a function is one that raises `Unwritten`, in whatever case.

    Its names are read and it is not called: a kernel may do anything to a device.
    """
    code = getattr(_innermost(function), "__code__", None)
    return code is not None and Unwritten.__name__ in code.co_names


def _innermost(function: Any) -> Any:
    """What partials, decorators and core's adapters were put around."""
    while True:
        if isinstance(function, partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, Adapted):
            function = function.function
        else:
            return function
