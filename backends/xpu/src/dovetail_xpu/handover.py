"""Programs of OpenCL drivers, made from what a driver built before, handed to SYCL.

SYCL takes SPIR-V, which a driver builds anew in each process. OpenCL tells what it
built, and takes it back in a twentieth of the time. So a program is made by OpenCL, in
the context that SYCL's stands for, and SYCL gets it by the functions behind
`sycl::make_kernel_bundle`, which its headers call and its library exports. Where one of
them is not there, nothing is handed over, and the driver builds.
"""

from __future__ import annotations

import ctypes
import platform
from ctypes import byref, c_bool, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from pathlib import Path
from typing import Any, Final

_MAKE: Final = (
    "_ZN4sycl3_V16detail18make_kernel_bundleEmRKNS0_7contextEbNS0_12bundle_stateE"
    "NS0_7backendE"
)
_CONTEXT: Final = "_ZNK4sycl3_V17context9getNativeEv"
_DEVICE: Final = "_ZNK4sycl3_V16device9getNativeEv"
_COPY: Final = "DPCTLKernelBundle_Copy"
_OPENCL, _EXECUTABLE = 1, 2  # a backend and a state, as SYCL numbers them
_SIZES, _CODES = 0x1165, 0x1166  # what OpenCL is asked of a program
_LIBRARY: Final = "libOpenCL.so.1"


class Handed:
    """A program, as OpenCL and as SYCL have it."""

    def __init__(self, opencl: int, sycl: Any) -> None:
        self.opencl = opencl
        self.sycl = sycl

    def code(self) -> bytes:
        """What the driver built; empty where it does not tell."""
        size = c_size_t()
        ask = _opencl().clGetProgramInfo
        if ask(self.opencl, _SIZES, ctypes.sizeof(size), byref(size), None):
            return b""
        held = ctypes.create_string_buffer(size.value)
        places = (c_void_p * 1)(ctypes.addressof(held))
        refused = ask(self.opencl, _CODES, ctypes.sizeof(places), places, None)
        return b"" if refused else held.raw


def possible(queue: Any) -> bool:
    """Whether programs can be handed over for a queue's device."""
    return queue.backend.name == "opencl" and _there()


@cache
def _there() -> bool:
    try:
        sycl, opencl = _sycl(), _opencl()
        for library, names in (
            (sycl, (_MAKE, _CONTEXT, _DEVICE, _COPY)),
            (opencl, ("clCreateProgramWithIL", "clCreateProgramWithBinary")),
        ):
            for name in names:
                getattr(library, name)
        return "SyclProgram_Make" in _python().__pyx_capi__
    except (OSError, AttributeError, ImportError):
        return False


def machine(queue: Any) -> tuple[str, ...]:
    """All that what a driver builds depends on, beside its source."""
    device = queue.sycl_device
    return device.name, device.driver_version, platform.machine(), _processor()


@cache
def _processor() -> str:
    """The CPU's features, as Linux lists them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    named = ("model name", "flags", "Features")
    return "\n".join(dict.fromkeys(x for x in lines if x.startswith(named)))


def program(queue: Any, code: bytes, *, as_built: bool) -> Handed | None:
    """The program of what a driver built, or of SPIR-V; None where it is refused."""
    context = c_void_p(_native(_CONTEXT, queue.sycl_context))
    device = (c_void_p * 1)(_native(_DEVICE, queue.sycl_device))
    library, status = _opencl(), c_int()
    if as_built:
        sizes, codes = (c_size_t * 1)(len(code)), (c_char_p * 1)(code)
        made = library.clCreateProgramWithBinary(
            context, 1, device, sizes, codes, None, byref(status)
        )
    else:
        made = library.clCreateProgramWithIL(
            context, code, c_size_t(len(code)), byref(status)
        )
    if status.value or library.clBuildProgram(
        c_void_p(made), 1, device, None, None, None
    ):
        return None
    return Handed(made, _as_sycl(queue, made))


def _as_sycl(queue: Any, made: int) -> Any:
    """The program as dpctl has it, which owns it from now on."""
    library = _sycl()
    bundle = (c_void_p * 2)()  # room for what is returned: a shared pointer
    getattr(library, _MAKE)(
        bundle, c_size_t(made), c_void_p(queue.sycl_context.addressof_ref()),
        c_bool(False), _EXECUTABLE, _OPENCL,
    )  # fmt: skip
    return _maker()(getattr(library, _COPY)(bundle))


def _native(name: str, owner: Any) -> int:
    """OpenCL's own object behind a context or a device."""
    found: int = getattr(_sycl(), name)(c_void_p(owner.addressof_ref()))
    return found


@cache
def _sycl() -> Any:
    """SYCL's library, by way of dpctl's, which it is loaded with."""
    import dpctl

    (path,) = Path(dpctl.__file__).parent.glob("libDPCTLSyclInterface.so")
    library = ctypes.CDLL(str(path))
    for name in (_CONTEXT, _DEVICE):
        getattr(library, name).restype = c_size_t
    getattr(library, _MAKE).restype = None
    getattr(library, _COPY).restype = c_void_p
    getattr(library, _COPY).argtypes = [c_void_p]
    return library


@cache
def _opencl() -> Any:
    """The OpenCL library that SYCL has loaded."""
    import os

    library = ctypes.CDLL(_LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    for name in ("clCreateProgramWithIL", "clCreateProgramWithBinary"):
        getattr(library, name).restype = c_void_p
    library.clGetProgramInfo.argtypes = [
        c_void_p, c_uint, c_size_t, c_void_p, c_void_p,
    ]  # fmt: skip
    return library


@cache
def _python() -> Any:
    import dpctl.program._program as python

    return python


@cache
def _maker() -> Any:
    """dpctl's function that makes a Python object of a program."""
    capsule = _python().__pyx_capi__["SyclProgram_Make"]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p)(address)
