"""OpenCL C to SPIR-V to kernels; both are kept on disk by what they were made from."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from dovetail.codegen.runtime.objects import Objects
from dovetail.errors import KernelError
from dovetail_xpu import handover
from dovetail_xpu.runtime import library_folder

CACHE: Final = "DOVETAIL_XPU_CACHE"
"""The variable that names the folder of what was compiled; `off` for none."""
_LIMIT: Final = 256 << 20  # bytes in it
_OPTIONS: Final = b"-cl-std=CL3.0 -cl-fp32-correctly-rounded-divide-sqrt"
# The last option declares doubles and 64-bit atomics, which are extensions.
_FORM: Final = (
    b"-emit-spirv -spirv-ext=-all -cl-ext=+cl_khr_fp64,+cl_khr_int64_base_atomics"
)
_Text = ctypes.c_char_p


def kernel_of(queue: Any, source: str, name: str) -> Any:
    """The kernel `name` of a text in OpenCL C, for the device of a queue."""
    from dpctl import program

    found = built(queue, source)
    if found is None:
        found = program.create_program_from_spirv(queue, spirv_of(source))
    return found.get_sycl_kernel(name)


def built(queue: Any, source: str) -> Any:
    """A program as its driver built it before; None where that cannot be kept."""
    if not handover.possible(queue):
        return None
    key = repr(("built", _facts(source), handover.machine(queue)))
    kept = objects().get(key)
    if kept is not None:
        found = handover.program(queue, kept, as_built=True)
        if found is not None:
            return found.sycl
    found = handover.program(queue, spirv_of(source), as_built=False)
    if found is None:
        return None
    objects().put(key, found.code())
    return found.sycl


def spirv_of(source: str) -> bytes:
    """The SPIR-V of a text, from the disk where it has been compiled before."""
    key = repr(_facts(source))
    code = objects().get(key)
    if code is None:
        code = compiled(source)
        objects().put(key, code)
    return code


def _facts(source: str) -> tuple[Any, ...]:
    """All that the code of a text depends on."""
    return source, _version(), _OPTIONS, _FORM


def objects() -> Objects:
    """What is kept on disk: in a folder of the user's, or as the variable says."""
    return _kept_in(os.environ.get(CACHE, "~/.cache/dovetail/xpu"))


@cache
def _kept_in(folder: str) -> Objects:
    kept = None if folder in ("", "off") else Path(folder).expanduser()
    return Objects(kept, _LIMIT)


@cache
def _version() -> str:
    try:
        return metadata.version("intel-opencl-rt")
    except metadata.PackageNotFoundError:
        return ""


@cache
def _compiler() -> Any:
    """The compiler that Intel's OpenCL runtime brings, as a library."""
    found = sorted(library_folder().glob("libcommon_clang.so*"))
    if not found:
        raise KernelError(
            "xpu", "the compiler", was=f"not in {library_folder()}",
            needed="libcommon_clang.so", remedy="pip install intel-opencl-rt",
        )  # fmt: skip
    library = ctypes.CDLL(str(found[-1]))
    library.Compile.restype = ctypes.c_int
    library.Compile.argtypes = [
        _Text, ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, _Text,
        ctypes.c_size_t, _Text, _Text, _Text, ctypes.POINTER(ctypes.c_void_p),
    ]  # fmt: skip
    return library


def compiled(source: str) -> bytes:
    """The SPIR-V of a text."""
    result = ctypes.c_void_p()
    status = _compiler().Compile(
        source.encode(), None, 0, None, None, 0, _OPTIONS, _FORM, b"300",
        ctypes.byref(result),
    )  # fmt: skip
    pointers = ctypes.POINTER(ctypes.c_void_p)
    methods = ctypes.cast(ctypes.cast(result, pointers)[0], pointers)

    def ask(place: int, kind: Any) -> Any:
        """One method of the result, which is a C++ object of virtual ones."""
        return ctypes.CFUNCTYPE(kind, ctypes.c_void_p)(methods[place])(result)

    size, code = ask(0, ctypes.c_size_t), ask(1, ctypes.c_void_p)
    if status or not size:
        log = (ask(4, _Text) or b"").decode(errors="replace")
        raise KernelError("xpu", "a kernel", was=log[:2000], needed="OpenCL C")
    text = ctypes.string_at(code, size)
    ask(5, None)  # releases the result
    return text
