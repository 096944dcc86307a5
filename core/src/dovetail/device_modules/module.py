"""The module about devices of one type."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from dovetail.device import device as Device
from dovetail.device_modules.graphed import Graphed
from dovetail.device_modules.memory import Memory
from dovetail.device_modules.mixed_precision import AmpModule
from dovetail.device_modules.seeds import Seeds
from dovetail.engine.omissions import reason_for
from dovetail.engine.second_names import place
from dovetail.errors import MissingName, OutOfMemory
from dovetail.frontend.tensor_classes import classes_on


class DeviceModule(Memory, Seeds, Graphed):
    """A module about the devices of one type.

    Args:
        name: the module's.
        type: of the devices.
    """

    def __init__(self, name: str, type: str) -> None:
        super().__init__(name, f"Devices of the type {type!r}.")
        self._type = type
        self.amp = AmpModule(f"{name}.amp", type)
        self.OutOfMemoryError = OutOfMemory
        if type != "cpu":  # whose classes are torch's own
            vars(self).update(classes_on(type))
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        below = None if name.startswith("__") else place(f"{self.__name__}.{name}")
        if below is not None:
            return below
        reason = reason_for("dovetail.cuda", name)
        raise MissingName(self.__name__, name, lambda: None, reason)

    def __dir__(self) -> list[str]:
        own = (*dir(type(self)), *vars(self))
        return sorted({name for name in own if not name.startswith("_")})

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        """Whether there is a device: bfloat16 is computed on each."""
        return self.is_available()


def get_device_module(device: Device | str | None = None) -> ModuleType:
    """The module about a device's type, such as `torch.cuda`; by default, of `"auto"`.

    >>> torch.get_device_module("cpu").device_count()
    1
    """
    type = Device("auto" if device is None else device).type
    name = f"dovetail.{type}"
    found = sys.modules.get(name)
    if isinstance(found, DeviceModule):
        return found
    if type in ("cpu", "cuda", "mps", "xpu"):
        return import_module(name)
    return DeviceModule(name, type)
