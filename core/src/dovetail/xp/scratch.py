"""Workspaces of kernels: of each thread and device, and kept from call to call.

It serves one queue of work, which does one kernel after the other. Where the caller
chose a stream, another stream of the same thread may still be using it: there every
call gets memory of its own, and so it does on devices, whose pools count what is used.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, Final

from dovetail.device_api.capabilities import chosen_streams
from dovetail.xp.kernels import on_device


class _Kept(dict[tuple[str, Any, str, Any], Any]):
    """What is kept of a thread, by library, device, role and dtype."""

    __hash__ = object.__hash__  # type: ignore[assignment]
    __slots__ = ("__weakref__",)


class _Memory(threading.local):
    """What each thread keeps."""

    def __init__(self) -> None:
        self.kept = _Kept()
        with _lock:
            _threads.add(self.kept)


_lock: Final = threading.Lock()
_threads: Final[weakref.WeakSet[_Kept]] = weakref.WeakSet()
_memory = _Memory()


def _of_all_threads() -> list[_Kept]:
    with _lock:
        return list(_threads)


def kept_bytes(xp: Any) -> int:
    """Bytes that are kept for the kernels of a library, in all threads."""
    found = [item for kept in _of_all_threads() for item in tuple(kept.items())]
    return sum(int(a.nbytes) for (name, *_), a in found if name == xp.__name__)


def release(xp: Any) -> None:
    """Give them back; kernels that are at work keep theirs to their end."""
    for kept in _of_all_threads():
        for key in tuple(kept):
            if key[0] == xp.__name__:
                kept.pop(key, None)


def scratch(xp: Any, like: Any, role: str, count: int, dtype: Any) -> Any:
    """A flat array of `count` elements with unspecified contents.

    The same memory comes back for the same role, so that a kernel takes each role once
    and gives none of it away.

    Args:
        like: an array of the library, on whose device it is.
    """
    chosen = chosen_streams.get()
    if on_device(xp):
        return xp.empty(count, dtype)
    if chosen and any(s is not d.default_stream(i) for (d, i), s in chosen.items()):
        return xp.empty(count, dtype)
    key = (xp.__name__, like.device, role, dtype)
    found = _memory.kept.get(key)
    if found is None or found.size < count:
        found = _memory.kept[key] = xp.empty(count, dtype)
    return found[:count]
