"""Which devices of a type there are, what is known of them, and which is current."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from dovetail.device import device as Device
from dovetail.device_api import DeviceInfo, current, registry
from dovetail.engine.tensor import Tensor
from dovetail.errors import DeviceError, NotSupported

DeviceLike = Device | str | int | None


class Places(ModuleType):
    """Devices of one type: their count, their properties, and the current one."""

    _type: str

    def _infos(self) -> tuple[DeviceInfo, ...]:
        """The devices; none where the backend is missing or does not load."""
        try:
            return tuple(registry.load(self._type).devices())
        except DeviceError:
            return ()

    def is_available(self) -> bool:
        """Whether the machine has such a device, and a backend that drives it."""
        return bool(self._infos())

    def device_count(self) -> int:
        """How many there are."""
        return len(self._infos())

    def is_initialized(self) -> bool:
        """Whether the backend is in use."""
        return any(backend.type == self._type for backend in registry.loaded())

    _initialized = property(is_initialized, doc="As programs ask it.")

    def init(self) -> None:
        """Load the backend.

        Raises: BackendError, which says why it cannot be.
        """
        registry.load(self._type)

    def _named(self, where: DeviceLike = None) -> Device:
        """A device: by its index, its name, or the current one."""
        if isinstance(where, int):
            return Device(self._type, where)
        wanted = Device(self._type if where is None else where)
        if wanted.type != self._type:
            raise DeviceError(
                self.__name__, "device", was=repr(str(wanted)),
                needed=f"one of the type {self._type!r}",
            )  # fmt: skip
        return wanted

    def _index(self, where: DeviceLike = None) -> int:
        return registry.resolve(self._named(where))[1]

    # ---- the current one

    def current_device(self) -> int:
        """The index of the device that the type's name alone stands for."""
        return self._index()

    def set_device(self, device: DeviceLike) -> None:
        """Let the type's name alone stand for `device` in this thread or task.

        Nothing is done for negative numbers.

        Raises: DeviceError if there is no such device.
        """
        if not (isinstance(device, int) and device < 0):
            current.choose(self._type, self._index(device))

    @contextmanager
    def device(self, device: DeviceLike) -> Iterator[None]:
        """A block of code in which a device is the current one; as `set_device`."""
        before = current.choice.get()
        self.set_device(device)
        try:
            yield
        finally:
            current.choice.set(before)

    def device_of(self, obj: Any) -> Any:
        """A block of code in which the device of a tensor is the current one."""
        here = isinstance(obj, Tensor) and obj.device.type == self._type
        return self.device(obj.device if here else -1)

    # ---- what is known of them

    def get_device_properties(self, device: DeviceLike = None) -> DeviceInfo:
        """What a device says of itself: its name, memory, driver and so on."""
        index = self._index(device)
        return next(info for info in self._infos() if info.index == index)

    def get_device_name(self, device: DeviceLike = None) -> str:
        """What its driver calls it."""
        return self.get_device_properties(device).name

    def get_device_capability(self, device: DeviceLike = None) -> tuple[int, int]:
        """The version of what it can compute, such as (9, 0).

        Raises: NotSupported if devices of the type have no such version.
        """
        found = self.get_device_properties(device).capability
        if found is None:
            raise NotSupported(
                f"{self.__name__}.get_device_capability", "device",
                was=f"{self._type}:{self._index(device)}, which tells no version",
                needed="one that does",
                remedy="see get_device_properties for what it tells",
            )  # fmt: skip
        return found

    def get_arch_list(self) -> list[str]:
        """What kernels are compiled for: the architectures of the devices here."""
        return sorted({info.arch for info in self._infos() if info.arch})
