"""CuPy's errors as dovetail's: memory that is used up, and devices that are lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.errors import BackendError, DeviceLost, DovetailError, OutOfMemory

# What leaves a context unusable: nothing on the device works again in this process.
_LOST: Final = (
    "IllegalAddress", "LaunchFailure", "Assert", "EccUncorrectable",
    "HardwareStackError", "IllegalInstruction", "MisalignedAddress", "InvalidPc",
    "DeviceUninitialized", "DevicesUnavailable", "ContextIsDestroyed",
)  # fmt: skip
_MISSING: Final = ("DynamicLibNotFoundError", "HIPCCException")


def explained(device: str, error: Exception) -> DovetailError | None:
    """The error in our words, None where there is nothing to add.

    Args:
        device: the device type.
    """
    kind, text = type(error).__name__, str(error)
    if kind == "OutOfMemoryError":
        return OutOfMemory(
            device, "memory", was=text, needed="less at a time",
            remedy="free tensors, or use smaller batches",
        )  # fmt: skip
    if kind in ("CUDARuntimeError", "CUDADriverError") and any(
        name in text.partition(":")[0] for name in _LOST
    ):
        return DeviceLost(
            device, "device", was=text, needed="one without a fault",
            remedy="start the process anew; this call failed or an earlier one",
        )  # fmt: skip
    if kind in _MISSING:
        return BackendError(
            device, "a library of the device", was=text.splitlines()[0],
            needed="all that CuPy compiles and computes with",
            remedy="install CuPy with its extra [ctk], or the toolkit itself",
        )  # fmt: skip
    return None


def guarded(
    device: str, function: Callable[..., Any], *args: Any, **options: Any
) -> Any:
    """Call a function; what CuPy raises comes out in our words."""
    try:
        return function(*args, **options)
    except DovetailError:
        raise
    except Exception as error:
        found = explained(device, error)
        if found is None:
            raise
        raise found from error
