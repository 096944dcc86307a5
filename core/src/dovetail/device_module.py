"""What torch has in `torch.cuda`, `torch.xpu`, `torch.mps`: one class, by device type.

Where the machine has no device of the type, `is_available()` is False, counts and bytes
are 0, seeds and caches do nothing, and all that needs a device says why there is none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from dovetail import accelerator
from dovetail.amp import GradScaler, autocast, custom_bwd, custom_fwd
from dovetail.device import device as Device
from dovetail.device_api import DeviceInfo, registry
from dovetail.engine.generator import Generator, checked_seed, generator_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import DeviceError, MissingName, NotSupported, OutOfMemory
from dovetail.tensor_api import devices, streams
from dovetail.tensor_api.streams import Event, Stream

DeviceLike = Device | str | int | None


class DeviceModule(ModuleType):
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
        self.Stream, self.Event = Stream, Event
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        raise MissingName(self.__name__, name, lambda: None, None)

    def __dir__(self) -> list[str]:
        own = [n for n in dir(type(self)) if not n.startswith("_")]
        return sorted({*own, "Event", "OutOfMemoryError", "Stream", "amp"})

    # ---- which there are

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

    def current_device(self) -> int:
        """The index of the device that the type's name alone stands for."""
        return registry.resolve(Device(self._type))[1]

    def set_device(self, device: DeviceLike) -> None:
        """Check that a device is the current one, which does not change.

        Raises: NotSupported for another one, which calls can name instead.
        """
        _, index = registry.resolve(self._named(device))
        if index != self.current_device():
            raise NotSupported(
                f"{self.__name__}.set_device", "device", was=f"{self._type}:{index}",
                needed=f"{self._type}:{self.current_device()}, which stays current",
                remedy=f'name the device: device="{self._type}:{index}", or '
                "dovetail.set_default_device",
            )  # fmt: skip

    @contextmanager
    def device(self, device: DeviceLike) -> Iterator[None]:
        """A block of code for a device, which has to be the current one."""
        if not (isinstance(device, int) and device < 0):
            self.set_device(device)
        yield

    def device_of(self, obj: Any) -> Any:
        """A block of code for the device that a tensor is on."""
        here = isinstance(obj, Tensor) and obj.device.type == self._type
        return self.device(obj.device if here else -1)

    def get_device_properties(self, device: DeviceLike = None) -> DeviceInfo:
        """Index, name, bytes of memory and driver of a device."""
        _, index = registry.resolve(self._named(device))
        return next(info for info in self._infos() if info.index == index)

    def get_device_name(self, device: DeviceLike = None) -> str:
        """What its driver calls it."""
        return self.get_device_properties(device).name

    # ---- work

    def synchronize(self, device: DeviceLike = None) -> None:
        """Wait for all work on a device, and raise its errors."""
        devices.synchronize(self._named(device))

    def current_stream(self, device: DeviceLike = None) -> Stream:
        """The stream that this context's work goes to."""
        return streams.current_stream(self._named(device))

    def default_stream(self, device: DeviceLike = None) -> Stream:
        """The stream that work goes to where none is chosen."""
        return streams.default_stream(self._named(device))

    def set_stream(self, stream: Stream) -> None:
        """Send the work of this context to `stream` from now on."""
        streams.set_stream(stream)

    @contextmanager
    def stream(self, stream: Stream | None) -> Iterator[None]:
        """Send the work of a block of code to `stream`; None changes nothing."""
        if stream is None:
            yield
            return
        with stream:
            yield

    # ---- random numbers

    def _generators(self) -> list[Generator]:
        return [generator_of(self._named(info.index)) for info in self._infos()]

    def manual_seed(self, seed: int) -> None:
        """Start the stream of `seed` on the current device."""
        number = checked_seed(seed)
        if self.is_available():
            generator_of(self._named()).manual_seed(number)

    def manual_seed_all(self, seed: int) -> None:
        """Start the stream of `seed` on every device of the type."""
        number = checked_seed(seed)
        for generator in self._generators():
            generator.manual_seed(number)

    def seed(self) -> None:
        """Start the stream of a new seed on the current device."""
        if self.is_available():
            generator_of(self._named()).seed()

    def seed_all(self) -> None:
        """Start the streams of one new seed on every device of the type."""
        for generator in self._generators()[:1]:
            self.manual_seed_all(generator.seed())

    def initial_seed(self) -> int:
        """The seed of the current device's generator."""
        return generator_of(self._named()).initial_seed()

    def get_rng_state(self, device: DeviceLike = None) -> Tensor:
        """The state of a device's generator."""
        return generator_of(self._named(device)).get_state()

    def get_rng_state_all(self) -> list[Tensor]:
        """The states of all devices' generators."""
        return [generator.get_state() for generator in self._generators()]

    def set_rng_state(self, new_state: Tensor, device: DeviceLike = None) -> None:
        """Set the state of a device's generator."""
        generator_of(self._named(device)).set_state(new_state)

    def set_rng_state_all(self, new_states: Iterable[Tensor]) -> None:
        """Set the states of all devices' generators."""
        for index, state in enumerate(new_states):
            self.set_rng_state(state, index)

    # ---- memory

    def _bytes(self, ask: Any, device: DeviceLike) -> int:
        return int(ask(self._named(device))) if self.is_available() else 0

    def memory_allocated(self, device: DeviceLike = None) -> int:
        """Bytes in use by tensors."""
        return self._bytes(accelerator.memory_allocated, device)

    def max_memory_allocated(self, device: DeviceLike = None) -> int:
        """The most bytes in use at once."""
        return self._bytes(accelerator.max_memory_allocated, device)

    def memory_reserved(self, device: DeviceLike = None) -> int:
        """Bytes in use by tensors, and those that are kept for tensors to come."""
        return self._bytes(accelerator.memory_reserved, device)

    def memory_stats(self, device: DeviceLike = None) -> dict[str, int]:
        """All that a device counts, by torch's names; nothing where there is none."""
        there = self.is_available()
        return accelerator.memory_stats(self._named(device)) if there else {}

    def reset_peak_memory_stats(self, device: DeviceLike = None) -> None:
        """Let the peak be what is in use now."""
        if self.is_available():
            accelerator.reset_peak_memory_stats(self._named(device))

    reset_max_memory_allocated = reset_peak_memory_stats

    def empty_cache(self) -> None:
        """Give memory back to the system that no tensor uses."""
        if self.is_available():
            accelerator.empty_cache(self._named())

    def mem_get_info(self, device: DeviceLike = None) -> tuple[int, int]:
        """Bytes that no tensor has, and bytes in all.

        Raises: NotSupported if the device does not say how much it has.
        """
        total = self.get_device_properties(device).memory_bytes
        if total is None:
            raise NotSupported(
                f"{self.__name__}.mem_get_info", "device",
                was=f"{self._named(device)}, which does not say how much memory it has",
                needed="one that does",
            )  # fmt: skip
        return total - self.memory_reserved(device), total

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        """Whether there is a device: bfloat16 is computed on each."""
        return self.is_available()


class AmpModule(ModuleType):
    """Mixed precision for one device type: what `torch.cuda.amp` has."""

    def __init__(self, name: str, device_type: str) -> None:
        super().__init__(name, f"Mixed precision on {device_type!r}.")

        class Autocast(autocast):
            """`amp.autocast` of the device type."""

            def __init__(
                self, enabled: bool = True, dtype: Any = None,
                cache_enabled: bool | None = True,
            ) -> None:  # fmt: skip
                super().__init__(device_type, dtype, enabled, cache_enabled)

        class Scaler(GradScaler):
            """`amp.GradScaler` of the device type."""

            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(device_type, *args, **options)

        self.autocast, self.GradScaler = Autocast, Scaler
        self.custom_fwd = partial(custom_fwd, device_type=device_type)
        self.custom_bwd = partial(custom_bwd, device_type=device_type)


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
