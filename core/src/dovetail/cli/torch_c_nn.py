"""`torch._C._nn`: what programs call of torch's library of C++ for layers."""

from __future__ import annotations

from typing import Any

from dovetail.device import device
from dovetail.nn.module.conversion import options_of_to


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Device, dtype, whether not to wait, and memory format of a call of `to`."""
    found = options_of_to(*args, **kwargs)
    place = found.get("device")
    return (
        None if place is None else device(place), found.get("dtype"),
        found.get("non_blocking", False), found.get("memory_format"),
    )  # fmt: skip
