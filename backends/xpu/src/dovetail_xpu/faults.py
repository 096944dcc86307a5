"""SYCL's errors in our words: a device that takes no work any more is lost."""

from __future__ import annotations

from dovetail.errors import DeviceLost


def lost(index: int, what: str, error: Exception) -> DeviceLost:
    """The error of work that a queue refused; dpctl keeps the driver's reason.

    Args:
        index: of the device.
        what: was asked of it.
    """
    return DeviceLost(
        what, "device", was=f"xpu:{index}, which took no work: {error}",
        needed="one that answers",
        remedy="start the process anew; this call failed or an earlier one",
    )  # fmt: skip
