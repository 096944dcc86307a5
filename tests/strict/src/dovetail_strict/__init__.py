"""The device type `strict`: NumPy that refuses what CuPy refuses.

The kernels are those that CUDA and ROCm devices get from `dovetail.xp`, so that all of
them are proven on a machine without a card.
"""

from __future__ import annotations

from dovetail.device_api import hookimpl
from dovetail_strict.backend import StrictBackend


@hookimpl
def dovetail_backend() -> type[StrictBackend]:
    """The backend behind the device type."""
    return StrictBackend
