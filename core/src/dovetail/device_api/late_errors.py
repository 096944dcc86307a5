"""Devices that tell at the next wait what calls had to refuse by their values."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Final

from dovetail.device_api.capabilities import Streams
from dovetail.device_api.graphs import recording

_MOST: Final = 64  # flags that are kept before the host waits for them


class LateErrors:
    """Errors of values, such as indices out of range, that no call waits for.

    Core gives the flag of a call's check to `note`, and the call goes on: so kernels
    must stay within memory whatever indices they get, and may give anything. The
    backend calls `tell(index)` at the end of `copy_out`, `synchronize`,
    `synchronize_stream` and `synchronize_event`, which raises the error of the first
    call that was wrong. What is written in place is written after flags were read.
    """

    def note(self, index: int, flag: Any, error: Callable[[], Exception]) -> None:
        """Keep a flag (a native array of bools), whose error is made where it is set.

        Beyond a number of flags, the host waits for them. Those of a graph that is
        being recorded are asked after each launch of it.
        """
        graph = recording.get()
        if graph is not None and graph.backend is self:
            graph.late.append((index, flag, error))
            return
        stream = self.current_stream(index) if isinstance(self, Streams) else None
        with _lock:
            noted = self._noted.setdefault(index, [])
            noted.append((flag, error, stream))
            full = len(noted) >= _MOST
        if full:
            self.tell(index)

    def tell(self, index: int) -> None:
        """Raise the error of the first call on a device that was wrong, if one was.

        It is told once; flags behind it are dropped, since the calls that they are of
        may have got what the wrong one gave.
        """
        if not self._noted.get(index):
            return
        with _lock:
            noted = self._noted.pop(index, [])
        for flag, error, stream in noted:
            if self._is_set(index, flag, stream):
                found = error()
                found.add_note(
                    "The call was made before the host came to wait for the device: "
                    "what has been computed from its result since then is not valid."
                )
                raise found

    def _is_set(self, index: int, flag: Any, stream: Any) -> bool:
        if isinstance(self, Streams) and stream is not self.current_stream(index):
            self.synchronize_stream(stream)
        return bool(self.copy_out(flag).any())  # type: ignore[attr-defined]

    @property
    def _noted(self) -> dict[int, list[tuple[Any, Callable[[], Exception], Any]]]:
        """By device."""
        found: dict[int, Any] = self.__dict__.setdefault("_late_errors", {})
        return found


_lock: Final = Lock()
