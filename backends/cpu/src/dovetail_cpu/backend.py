"""Memory on the CPU: NumPy arrays, shared with the user at no cost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dovetail.codegen.runtime import why_not
from dovetail.device_api import DeviceInfo, HostMemory, KernelTable, Workspaces
from dovetail.device_api.dlpack import NumpyDLPack
from dovetail.xp.scratch import kept_bytes, release, scratch
from dovetail_cpu import generated, onednn
from dovetail_cpu import kernels as native_kernels
from dovetail_cpu.memory import KeptMemory

Array = np.ndarray[Any, Any]
_HERE: Final = np.empty(0, np.uint8)  # says on which device workspaces are


class CpuBackend(KeptMemory, HostMemory, NumpyDLPack, Workspaces):
    """NumPy arrays as native arrays, ufuncs as kernels."""

    type = "cpu"
    launch_boundaries = (generated.SMALLEST, generated.LEAST >> 3, generated.LEAST)

    def devices(self) -> Sequence[DeviceInfo]:
        cores = os.cpu_count()
        return (
            DeviceInfo(0, _cpu_name(), _memory_bytes(), multi_processor_count=cores),
        )

    def kernels(self, table: KernelTable) -> None:
        native_kernels.install(table)

    def expose(self, native: Array) -> Array:
        return native

    def address(self, native: Array) -> int:
        return int(native.ctypes.data)

    def workspace(self, size: int, index: int, role: str = "") -> Array:
        return scratch(np, _HERE, role, size, np.uint8)  # type: ignore[no-any-return]

    def workspace_bytes(self, index: int) -> int:
        return kept_bytes(np)

    def release_workspaces(self, index: int) -> None:
        release(np)


def _cpu_name() -> str:
    reason = why_not()
    kernels = "generated kernels" if reason is None else f"NumPy's kernels: {reason}"
    missing = onednn.why_not()
    primitives = "oneDNN" if missing is None else f"no oneDNN: {missing}"
    numpy = f"NumPy {np.__version__}"
    return f"CPU, {os.cpu_count()} cores, {numpy}, {kernels}, {primitives}"


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
