"""Blocks of code in which one object handles all public calls: `TorchFunctionMode`.

Calls ask for it where they ask their arguments' classes, which fast paths do not. So
that these are left alone while no mode is open, a mode is a scope as well, which calls
of ops look for, and `forgets` has what empties the memories of other functions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Self

from dovetail.engine.scopes import Recorder, record
from dovetail.errors import CallOrderError

_open: Final[ContextVar[tuple[TorchFunctionMode, ...]]] = ContextVar("m", default=())
active: Final = [0]
"""How many modes are open, in all contexts."""
forgets: Final[list[Callable[[], None]]] = []
"""Called when a mode is opened: calls that are known to need no asking are to ask."""
_counting: Final = threading.Lock()


class TorchFunctionMode:
    """Handles the public calls of a `with` block, of this context alone.

    A subclass defines `__torch_function__(self, func, types, args=(), kwargs=None)`,
    within which calls go to the mode that was opened before, if there is one.

    Examples:
        >>> import dovetail as torch
        >>> from dovetail.overrides import TorchFunctionMode
        >>> class Doubled(TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         return func(*args, **(kwargs or {})) * 2
        >>> with Doubled():
        ...     torch.ones(2)
        tensor([2., 2.])
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """The result of a call.

        Args:
            func: the public callable.
            types: classes of arguments that would handle the call.
        """
        raise NotImplementedError

    def __enter__(self) -> Self:
        push(self)
        return self

    def __exit__(self, *_: object) -> None:
        pop(self)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls what is called."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """The result of the call."""
        return func(*args, **(kwargs or {}))


def innermost() -> TorchFunctionMode | None:
    """The mode of this context that was opened last."""
    stack = _open.get()
    return stack[-1] if stack else None


def stack_of_modes() -> list[TorchFunctionMode]:
    """The modes of this context, the outermost first."""
    return list(_open.get())


def push(mode: TorchFunctionMode) -> None:
    """Open a mode."""
    with _counting:
        active[0] += 1
        for forget in forgets:
            forget()
    scope = record(Recorder())
    scope.__enter__()
    _scopes.set((*_scopes.get(), scope))
    _open.set((*_open.get(), mode))


_scopes: Final[ContextVar[tuple[Any, ...]]] = ContextVar("scopes of modes", default=())


def pop(mode: TorchFunctionMode | None = None) -> TorchFunctionMode:
    """Close the mode that was opened last.

    Raises:
        CallOrderError: it is another one, or there is none.
    """
    stack = _open.get()
    if not stack or (mode is not None and stack[-1] is not mode):
        raise CallOrderError(
            "TorchFunctionMode", "mode", was="not the one that was opened last",
            needed="modes that close in the order opposite to that of their opening",
        )  # fmt: skip
    *scopes, scope = _scopes.get()
    scope.__exit__(None, None, None)
    _scopes.set(tuple(scopes))
    _open.set(stack[:-1])
    with _counting:
        active[0] -= 1
    return stack[-1]


@contextmanager
def without_innermost() -> Iterator[TorchFunctionMode]:
    """Within it, calls go to the mode that was opened before the last one."""
    stack = _open.get()
    token = _open.set(stack[:-1])
    try:
        yield stack[-1]
    finally:
        _open.reset(token)


def handled(
    function: Callable[..., Any], classes: tuple[type, ...], args: Any, kwargs: Any
) -> Any:
    """What the innermost mode makes of a call."""
    with without_innermost() as mode:
        return mode.__torch_function__(function, classes, args, kwargs)
