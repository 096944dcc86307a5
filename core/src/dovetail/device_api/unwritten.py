"""Functions that are there in name only: what a new backend has still to write."""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dovetail.device_api.contract import Backend
from dovetail.device_api.dense import DenseBackend
from dovetail.device_api.dense_kernels import Adapted
from dovetail.device_api.kernels import KernelTable

# What stands between the start of a function and its first deed.
_PRELUDE: Final = frozenset({"RESUME", "NOP", "PUSH_NULL", "NOT_TAKEN"})
# What making an exception of constants takes, up to raising it.
_MAKING: Final = frozenset({"LOAD_CONST", "PRECALL", "CALL", "PUSH_NULL", "NOP"})


def unwritten(table: KernelTable) -> list[str]:
    """The ops of which every kernel does nothing but raise NotImplementedError."""
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
    """Whether a function's one statement is `raise NotImplementedError(...)`.

    It is read, not called: a kernel may do anything to a device.
    """
    code = getattr(_innermost(function), "__code__", None)
    if code is None:
        return False
    steps = [i for i in dis.get_instructions(code) if i.opname not in _PRELUDE]
    if not steps or steps[0].argval != "NotImplementedError":
        return False
    for step in steps[1:]:
        if step.opname not in _MAKING:
            return step.opname == "RAISE_VARARGS"
    return False


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
