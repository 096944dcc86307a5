"""The CPU backend of dovetail: NumPy and its BLAS."""

from __future__ import annotations

from dovetail.device_api import Backend, hookimpl
from dovetail_cpu.backend import CpuBackend


@hookimpl
def dovetail_backend() -> type[Backend]:
    """The backend behind the device type `cpu`."""
    return CpuBackend
