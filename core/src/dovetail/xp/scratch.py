"""Working memory of kernels: of each thread's own, and kept from call to call."""

from __future__ import annotations

import threading
from typing import Any

_threads = threading.local()


def scratch(xp: Any, role: str, count: int, dtype: Any) -> Any:
    """A flat array of `count` elements with unspecified contents.

    The same memory comes back for the same role, so that a kernel takes each role once
    and gives none of it away.
    """
    key = f"{xp.__name__} {role} {dtype}"
    found = _threads.__dict__.get(key)
    if found is None or found.size < count:
        found = _threads.__dict__[key] = xp.empty(count, dtype)
    return found[:count]
