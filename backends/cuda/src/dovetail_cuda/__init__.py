"""dovetail on CUDA devices: CuPy arrays under the device type `cuda`."""

from __future__ import annotations

from dovetail.device_api import Backend, hookimpl


@hookimpl
def dovetail_backend() -> type[Backend]:
    """The backend behind the device type `cuda`."""
    from dovetail_cupy.backend import CupyBackend
    from dovetail_cupy.probe import CUDA

    class CudaBackend(CupyBackend):
        """CUDA devices."""

        type = "cuda"
        platform = CUDA

    return CudaBackend
