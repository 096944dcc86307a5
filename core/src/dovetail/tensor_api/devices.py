"""Devices as users meet them: `with device(...)`, the default, what there is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from dovetail.device import device as Device
from dovetail.device import named
from dovetail.device_api import registry
from dovetail.engine import modes
from dovetail.engine.public import NAMESPACES, public
from dovetail.errors import DeviceError, OutOfMemory

F = TypeVar("F", bound=Callable[..., Any])
DeviceLike = Device | str | None


def _enter(self: Device) -> Device:
    """Make tensors on this device where none is named."""
    modes.enter_device(self)
    return self


def _exit(self: Device, *_: object) -> None:
    modes.leave_device()


def _decorate(self: Device, function: F) -> F:
    """`function`, with this device as the default while it runs."""

    @functools.wraps(function)
    def on_device(*args: Any, **kwargs: Any) -> Any:
        with self:  # type: ignore[attr-defined]
            return function(*args, **kwargs)

    return on_device  # type: ignore[return-value]


Device.__enter__ = _enter  # type: ignore[attr-defined]
Device.__exit__ = _exit  # type: ignore[attr-defined]
Device.__call__ = _decorate  # type: ignore[method-assign]


@public("torch.get_default_device")
def get_default_device() -> Device:
    """Where tensors are made that name no device."""
    backend, index = registry.resolve(modes.default_device())
    return named(backend.type, index)


@public("torch.synchronize")
def synchronize(device: DeviceLike = None) -> None:
    """Wait for all work on a device (the default one), and raise its errors."""
    wanted = modes.default_device() if device is None else device
    backend, index = registry.resolve(wanted)
    backend.synchronize(index)


@public("torch.is_available")
def is_available(device: Device | str) -> bool:
    """Whether tensors can be made on `device`; tries to load its backend."""
    try:
        registry.resolve(device)
    except DeviceError:
        return False
    return True


@public("torch.devices")
def devices() -> list[Device]:
    """Every device whose backend loads; `dovetail devices` tells why others do not."""
    return [named(kind, index) for kind, index in registry.available()]


NAMESPACES["torch"]["OutOfMemoryError"] = OutOfMemory
