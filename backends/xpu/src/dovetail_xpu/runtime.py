"""The SYCL runtime: where it is, and which of its devices there are to use."""

from __future__ import annotations

import ctypes
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from dovetail.errors import BackendError

ALLOW_CPU: Final = "DOVETAIL_XPU_ALLOW_CPU"
"""The variable that lets the CPU's SYCL device be used: as one, or in so many parts."""
_DRIVERS: Final = "OCL_ICD_FILENAMES"  # an OpenCL loader reads it once


def cpu_parts() -> int:
    """In how many parts the CPU may be used; 0 where it may not."""
    wish = os.environ.get(ALLOW_CPU, "").strip()
    if wish in ("", "0"):
        return 0
    if not wish.isdecimal():
        raise BackendError(
            "xpu", ALLOW_CPU, was=repr(wish),
            needed="1, the number of parts to use the CPU in, or 0",
        )  # fmt: skip
    return int(wish)


def library_folder() -> Path:
    """The folder of Intel's OpenCL runtime, which pip puts beside Python's own."""
    try:
        files = metadata.files("intel-opencl-rt") or ()
    except metadata.PackageNotFoundError:
        files = ()
    for file in files:
        if file.name == "libintelocl.so":
            return Path(str(file.locate())).resolve().parent
    return Path(sys.prefix) / "lib"


def loaded_dpctl() -> Any:
    """dpctl, which finds the CPU's driver without the user setting paths."""
    driver = library_folder() / "libintelocl.so"
    if cpu_parts() and driver.exists():
        # The wheel's own .icd file names a folder that is not there.
        os.environ.setdefault(_DRIVERS, str(driver))
    try:
        import dpctl
        import dpctl.memory
        import dpctl.program
    except ImportError as error:
        raise BackendError(
            "xpu", "dpctl", was=f"not to be loaded: {error}",
            needed="the SYCL runtime and its Python package",
            remedy="pip install dpctl intel-opencl-rt",
        ) from error  # fmt: skip
    return dpctl


def sycl_devices() -> list[Any]:
    """The GPUs, those of Level Zero first; without any, the CPU where it is allowed.

    Raises:
        BackendError: there is none, which says what there is instead.
    """
    dpctl = loaded_dpctl()
    every = dpctl.get_devices()
    found = _without_twins([d for d in every if d.is_gpu])
    if found:
        return found
    parts = cpu_parts()
    cpu = next((d for d in every if d.is_cpu), None)
    if parts == 0 or cpu is None:
        raise _missing(every, parts)
    units = cpu.max_compute_units
    if parts == 1 or units < parts:
        return [cpu]
    return list(cpu.create_sub_devices(partition=units // parts))[:parts]


def end_without_sycl() -> None:
    """In a forked child: let libraries do nothing when the process ends.

    SYCL's would wait, and for ever, for threads that are the parent's alone.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # what is registered last is called first
        libc.on_exit(libc._exit, None)
        getattr(libc, "__cxa_atexit")(libc.fflush, None, None)


def _without_twins(gpus: list[Any]) -> list[Any]:
    """Each card once: OpenCL shows those of Level Zero again."""
    level_zero = [d for d in gpus if d.backend.name == "level_zero"]
    names = {d.name for d in level_zero}
    return level_zero + [
        d for d in gpus if d.backend.name != "level_zero" and d.name not in names
    ]


def _missing(every: list[Any], parts: int) -> BackendError:
    seen = ", ".join(sorted({d.name.strip() for d in every})) or "no device"
    if parts:
        needed = "a CPU driver of OpenCL"
        remedy = f"pip install intel-opencl-rt, and leave {_DRIVERS} unset"
    else:
        needed = "an Intel GPU with its driver"
        remedy = f"install intel-level-zero-gpu, or set {ALLOW_CPU}=1 to use the CPU"
    return BackendError(
        "xpu", "the device list", was=f"without a GPU: SYCL finds {seen}",
        needed=needed, remedy=remedy,
    )  # fmt: skip
