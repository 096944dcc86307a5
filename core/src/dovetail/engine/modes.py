"""What an op call may have to ask: grad mode, default device, interposers.

All of it is local to the context (thread or task), but for one process-wide count
that says whether any interposer is active anywhere.
"""

from __future__ import annotations

import contextvars
import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, TypeVar

from dovetail.device import device
from dovetail.device_api import registry

F = TypeVar("F", bound=Callable[..., Any])

# busy[0] counts active interposers: zero is the whole check on the fast path.
busy: Final = [0]

_grad: contextvars.ContextVar[bool] = contextvars.ContextVar("grad", default=True)
grad_enabled = _grad.get
Interposer = Callable[[Any, tuple[Any, ...], dict[str, Any], Callable[..., Any]], Any]
_interposers: contextvars.ContextVar[tuple[Interposer, ...]] = contextvars.ContextVar(
    "interposers", default=()
)
_default_device: contextvars.ContextVar[device | str | None] = contextvars.ContextVar(
    "default_device", default=None
)


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require gradients are recorded."""
    return _grad.get()


class GradMode:
    """Sets the grad mode: at once, as a context manager, or as a decorator."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._before: list[contextvars.Token[bool]] = []

    def __enter__(self) -> None:
        self._before.append(_grad.set(self.mode))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _grad.reset(self._before.pop())

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            token = _grad.set(self.mode)
            try:
                return function(*args, **kwargs)
            finally:
                _grad.reset(token)

        return wrapped  # type: ignore[return-value]


class no_grad(GradMode):
    """Context manager and decorator under which nothing is recorded."""

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__(False)


class enable_grad(GradMode):
    """Context manager and decorator that records again within `no_grad`."""

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__(True)


class set_grad_enabled(GradMode):
    """Sets the grad mode at once; as a context manager, restores it at the end."""

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self._outer = _grad.get()
        _grad.set(self.mode)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _grad.set(self._outer)


@contextmanager
def interpose(interposer: Interposer) -> Iterator[None]:
    """Let `interposer(op, tensors, attrs, proceed)` see every op of this context.

    It returns what the op shall return; `proceed(tensors, attrs)` runs the rest of
    the chain and the op itself. The innermost interposer is asked first.
    """
    token = _interposers.set((interposer, *_interposers.get()))
    busy[0] += 1
    try:
        yield
    finally:
        busy[0] -= 1
        _interposers.reset(token)


def interposers() -> tuple[Interposer, ...]:
    """The interposers of this context, innermost first."""
    return _interposers.get()


@contextmanager
def without_interposers() -> Iterator[None]:
    """Hide this context's interposers, for what an op does within itself."""
    token = _interposers.set(())
    try:
        yield
    finally:
        _interposers.reset(token)


def default_device() -> device | str:
    """Where tensors are made that name no device.

    The innermost `with device(...)`, else `set_default_device`, else the variable
    `DOVETAIL_DEVICE`, else the CPU.
    """
    chosen = _default_device.get()
    if chosen is None:
        return os.environ.get("DOVETAIL_DEVICE") or "cpu"
    return chosen


def set_default_device(wanted: device | str | None) -> None:
    """Make tensors on `wanted` where no device is named; None undoes it.

    Raises:
        DeviceError: no such device is available.
    """
    if wanted is not None:
        registry.resolve(wanted)
    _default_device.set(wanted)


_Token = contextvars.Token[device | str | None]
_entered: contextvars.ContextVar[tuple[_Token, ...]] = contextvars.ContextVar(
    "entered_devices", default=()
)


def enter_device(wanted: device) -> None:
    """Make tensors on `wanted` until `leave_device`.

    Raises:
        DeviceError: no such device is available.
    """
    registry.resolve(wanted)
    _entered.set((*_entered.get(), _default_device.set(wanted)))


def leave_device() -> None:
    """Return to the default device before the last `enter_device`."""
    *outer, last = _entered.get()
    _entered.set(tuple(outer))
    _default_device.reset(last)
