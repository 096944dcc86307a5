"""dovetail on ROCm devices: CuPy arrays under the device type `rocm`."""

from __future__ import annotations

from dovetail.device_api import Backend, hookimpl


@hookimpl
def dovetail_backend() -> type[Backend]:
    """The backend behind the device type `rocm`."""
    from dovetail_cupy.backend import CupyBackend
    from dovetail_cupy.probe import ROCM

    class RocmBackend(CupyBackend):
        """ROCm devices."""

        type = "rocm"
        platform = ROCM

    return RocmBackend
