"""Memory of the devices of one type, in figures."""

from __future__ import annotations

from typing import Any

from dovetail import accelerator
from dovetail.device_modules.places import DeviceLike, Places
from dovetail.errors import ArgumentError, ArgumentTypeError


class Memory(Places):
    """Bytes in use and at most, their limit, and what is kept for later."""

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(name, doc)
        self._fractions: dict[int, float] = {}  # set as limits, by device

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

    def max_memory_reserved(self, device: DeviceLike = None) -> int:
        """The most bytes that tensors had or that were kept for them."""
        return self._bytes(accelerator.max_memory_reserved, device)

    memory_cached, max_memory_cached = memory_reserved, max_memory_reserved
    reset_max_memory_cached = reset_peak_memory_stats

    def reset_accumulated_memory_stats(self, device: DeviceLike = None) -> None:
        """Let what is counted from the start on be counted from now on."""
        if self.is_available():
            accelerator.reset_accumulated_memory_stats(self._named(device))

    def memory_summary(
        self, device: DeviceLike = None, abbreviated: bool = False
    ) -> str:
        """All that a device counts, as a table; `abbreviated` leaves out what is 0."""
        counts = self.memory_stats(device)
        shown = {k: n for k, n in counts.items() if n or not abbreviated}
        width = max(map(len, shown), default=0)
        rows = [f"{name:{width}}  {n:>20,}" for name, n in shown.items()]
        return "\n".join([f"Memory of {self._named(device)}", *rows])

    def mem_get_info(self, device: DeviceLike = None) -> tuple[int, int]:
        """Bytes that no tensor has, and bytes in all.

        Raises: NotSupported if the device does not say how much it has.
        """
        return accelerator.get_memory_info(self._named(device))

    def set_per_process_memory_fraction(
        self, fraction: float, device: DeviceLike = None
    ) -> None:
        """Refuse memory beyond a share, from 0 to 1, of all that a device has.

        Raises: NotSupported if the device does not say how much it has.
        """
        name = f"{self.__name__}.set_per_process_memory_fraction"
        if not isinstance(fraction, int | float):
            raise ArgumentTypeError(
                name, "fraction", was=repr(fraction), needed="a number from 0 to 1"
            )
        if not 0 <= fraction <= 1:
            raise ArgumentError(
                name, "fraction", was=fraction, needed="a number from 0 to 1"
            )
        where = self._named(device)
        _, total = accelerator.get_memory_info(where)
        accelerator.set_memory_limit(int(fraction * total), where)
        self._fractions[self._index(device)] = float(fraction)

    def get_per_process_memory_fraction(self, device: DeviceLike = None) -> float:
        """The share of a device's memory that was set as the limit; 1.0 if none was."""
        return self._fractions.get(self._index(device), 1.0)
