"""What an op call may have to ask: grad mode, inference mode and default device.

All are local to the context (a thread or a task).
"""

from __future__ import annotations

import contextvars
import functools
import os
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, ClassVar, Final, TypeVar

from dovetail.device import device
from dovetail.device_api import registry
from dovetail.errors import ArgumentTypeError

F = TypeVar("F", bound=Callable[..., Any])
Mode = Callable[[], AbstractContextManager[None]]

_grad: contextvars.ContextVar[bool] = contextvars.ContextVar("grad", default=True)
grad_enabled = _grad.get
_inference: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "inference", default=False
)
inference_enabled = _inference.get
_default_device: contextvars.ContextVar[device | str | None] = contextvars.ContextVar(
    "default_device", default=None
)


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require gradients are recorded."""
    return _grad.get()


def set_modes(*, inference: bool, grad: bool) -> None:
    """What holds in this context from now on."""
    _inference.set(inference)
    _grad.set(grad)


class SetAside:
    """What managers of a context have set aside, with who did; they end in any order.

    Args:
        name: of the variable that holds it.
    """

    def __init__(self, name: str) -> None:
        self._held: contextvars.ContextVar[tuple[tuple[Any, Any], ...]] = (
            contextvars.ContextVar(name, default=())
        )

    def keep(self, who: Any, value: Any) -> None:
        """Set a value aside."""
        self._held.set((*self._held.get(), (who, value)))

    def taken(self, who: Any) -> list[Any]:
        """The last value that `who` has set aside, which is not there any more."""
        held = self._held.get()
        for at in range(len(held) - 1, -1, -1):
            if held[at][0] is who:
                self._held.set(held[:at] + held[at + 1 :])
                return [held[at][1]]
        return []


class GradMode:
    """Sets the grad mode: at once, as a context manager, or as a decorator.

    A decorated generator or coroutine function has the mode while it runs, and its
    caller's mode is as it was whenever it does not.
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        _outer.keep(self, _grad.get())
        _grad.set(self.mode and not _inference.get())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for mode in _outer.taken(self):
            _grad.set(mode)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            token = _grad.set(self.mode and not _inference.get())
            try:
                return function(*args, **kwargs)
            finally:
                _grad.reset(token)

        return decorated(function, wrapped, lambda: GradMode(self.mode))


def decorated(function: F, wrapped: Any, mode: Mode) -> F:
    """A function of any kind that runs in a mode; `wrapped` is that of a plain one."""
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)

    @functools.wraps(function)
    def generates(*args: Any, **kwargs: Any) -> Any:
        return _in_mode(mode, function(*args, **kwargs))

    @functools.wraps(function)
    async def waits(*args: Any, **kwargs: Any) -> Any:
        with mode():
            return await function(*args, **kwargs)

    if flags & _COROUTINE:
        return waits  # type: ignore[return-value]
    return generates if flags & _GENERATOR else wrapped  # type: ignore[return-value]


# Flags of code objects, as `inspect` has them.
_GENERATOR: Final = 0x20
_COROUTINE: Final = 0x80
# The grad modes that context managers have set aside, with who did.
_outer: Final = SetAside("outer_grad_modes")


def _in_mode(mode: Mode, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """The same generator, each of whose steps runs in a mode."""
    step, value = steps.send, None
    while True:
        try:
            with mode():
                made = step(value)
        except StopIteration as stop:
            return stop.value
        try:
            value = yield made
            step = steps.send
        except GeneratorExit:
            with mode():
                steps.close()
            raise
        except BaseException as error:
            value, step = error, steps.throw


class _Fixed(GradMode):
    """A mode that its class says; decorates with parentheses or without."""

    recorded: ClassVar[bool]

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__(self.recorded)


class no_grad(_Fixed):
    """Context manager and decorator under which nothing is recorded.

    Examples:
        >>> import dovetail as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    recorded = False


class enable_grad(_Fixed):
    """Context manager and decorator that records again within `no_grad`.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    recorded = True


class set_grad_enabled(GradMode):
    """Sets the grad mode at once; as a context manager, restores it at the end."""

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise ArgumentTypeError(
                "set_grad_enabled", "mode", was=repr(mode), needed="True or False"
            )
        super().__init__(mode)
        self._outer = _grad.get()
        _grad.set(self.mode and not _inference.get())

    def __call__(self, function: F) -> F:
        _grad.set(self._outer)  # the function alone has the mode
        return super().__call__(function)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _grad.set(self._outer)


def default_device() -> device | str:
    """Where tensors are made that name no device.

    The innermost `with device(...)`, else `set_default_device`, else the variable
    `DOVETAIL_DEVICE`, else the CPU.
    """
    chosen = _default_device.get()
    if chosen is None:
        return of_environment()
    return chosen


@functools.cache
def of_environment() -> str:
    """What the variable says, as it was when the first tensor was made."""
    return os.environ.get("DOVETAIL_DEVICE") or "cpu"


def set_default_device(device: device | str | None) -> None:
    """Make tensors on `device` where no device is named; None undoes it.

    Raises:
        DeviceError: no such device is available.
    """
    if device is not None:
        registry.resolve(device)
    _default_device.set(device)


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
