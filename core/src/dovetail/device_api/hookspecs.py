"""The hooks a plug-in may implement (pluggy), and the decorator to do so.

A plug-in is a module or object that an entry point names: in `dovetail.backends.v1`
for a device type, in `dovetail.kernels.v1` for kernels alone.
"""

from __future__ import annotations

from typing import Final

import pluggy

from dovetail.device_api.contract import Backend
from dovetail.device_api.kernels import KernelTable

PROJECT: Final = "dovetail"
hookspec: Final = pluggy.HookspecMarker(PROJECT)
hookimpl: Final = pluggy.HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def dovetail_backend() -> type[Backend] | None:
    """The backend behind this plug-in's device type.

    Called once, when the device is first asked for.
    """


@hookspec
def dovetail_kernels(table: KernelTable, backend: str) -> None:
    """Add kernels to a backend, one's own or another's.

    Called once for the table of every backend in use, whichever of the two is loaded
    first; `backend` is its device type. Kernels for another's table declare a `rank`
    other than 0, above it to go first.
    """
