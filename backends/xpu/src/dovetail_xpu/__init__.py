"""Intel GPUs as devices of dovetail: SYCL through dpctl, kernels that are generated."""

from __future__ import annotations

from dovetail.device_api import Backend, hookimpl


@hookimpl
def dovetail_backend() -> type[Backend]:
    """The backend behind the device type `xpu`."""
    from dovetail_xpu.backend import XpuBackend

    return XpuBackend
