"""The capability of workspaces: memory that kernels work in, kept from call to call."""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from typing import Any, Final

from dovetail.device_api.capabilities import Streams
from dovetail.device_api.graphs import recording
from dovetail.dtypes import uint8

_lock: Final = threading.RLock()  # a stream may die while another one is asked for


class Workspaces(ABC):
    """Memory that kernels work in, which no two of them share that may run at once.

    It belongs to the current stream and the calling thread, in whose order kernels
    come; without streams to the thread. A kernel has several by their roles, asks once
    a call, and keeps and gives away none of them.
    """

    @abstractmethod
    def workspace(self, size: int, index: int, role: str = "") -> Any:
        """A flat native array of `size` bytes (uint8), whatever they hold.

        The same memory may come back for the same role, at the next call on the stream.
        """

    @abstractmethod
    def workspace_bytes(self, index: int) -> int:
        """Bytes that are kept for kernels of a device, whether one uses them or not."""

    @abstractmethod
    def release_workspaces(self, index: int) -> None:
        """Give back what is kept; kernels that are at work keep theirs to their end.

        Core asks for it where users call `empty_cache`.
        """


class KeptWorkspaces(Workspaces):
    """Workspaces out of `Backend.empty`, for any backend whose memory has an order.

    What is kept of a stream dies with it, as its arrays do. While a graph is recorded,
    each call gets memory of its own, which the graph keeps.
    """

    def workspace(self, size: int, index: int, role: str = "") -> Any:
        graph = recording.get()
        if graph is not None and graph.backend is self:
            return self._fresh(size, index)
        key = role, threading.get_ident()
        kept = self._of(index)
        found = kept.get(key)
        if found is None or found.shape[0] < size:
            found = kept[key] = self._fresh(size, index)
        return self._part(found, size)

    def workspace_bytes(self, index: int) -> int:
        with _lock:
            kept = [
                k for at, by in self._kept.items() if at == index for k in by.values()
            ]
            return sum(a.shape[0] for found in kept for a in tuple(found.values()))

    def release_workspaces(self, index: int) -> None:
        with _lock:
            self._kept.pop(index, None)

    def _of(self, index: int) -> dict[tuple[str, int], Any]:
        """What is kept of the current stream, by role and thread."""
        stream = self.current_stream(index) if isinstance(self, Streams) else self
        with _lock:
            by = self._kept.setdefault(index, weakref.WeakKeyDictionary())
            found: dict[tuple[str, int], Any] = by.setdefault(stream, {})
        return found

    def _fresh(self, size: int, index: int) -> Any:
        return self.empty((size,), uint8, index)  # type: ignore[attr-defined]

    def _part(self, found: Any, size: int) -> Any:
        if found.shape[0] == size:
            return found
        return self.view(found, (size,), (1,), 0)  # type: ignore[attr-defined]

    @property
    def _kept(self) -> dict[int, Any]:
        """By device, then by stream."""
        found: dict[int, Any] = self.__dict__.setdefault("_workspaces", {})
        return found
