"""OpenCL C to SPIR-V to kernels; SPIR-V is kept on disk by what it was made from."""

from __future__ import annotations

import ctypes
import hashlib
import os
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from dovetail.errors import KernelError
from dovetail_xpu.runtime import library_folder

CACHE: Final = "DOVETAIL_XPU_CACHE"
"""The variable that names the folder of SPIR-V; `off` for none."""
_OPTIONS: Final = b"-cl-std=CL3.0 -cl-fp32-correctly-rounded-divide-sqrt"
# The last option declares doubles and 64-bit atomics, which are extensions.
_FORM: Final = (
    b"-emit-spirv -spirv-ext=-all -cl-ext=+cl_khr_fp64,+cl_khr_int64_base_atomics"
)
_Text = ctypes.c_char_p


def kernel_of(queue: Any, source: str, name: str) -> Any:
    """The kernel `name` of a text in OpenCL C, for the device of a queue."""
    from dpctl import program

    return program.create_program_from_spirv(queue, spirv_of(source)).get_sycl_kernel(
        name
    )


def spirv_of(source: str) -> bytes:
    """The SPIR-V of a text, from the disk where it has been compiled before."""
    folder = _folder()
    if folder is None:
        return compiled(source)
    facts = (source, _version(), _OPTIONS, _FORM)
    kept = folder / f"{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}.spv"
    try:
        return kept.read_bytes()
    except OSError:
        code = compiled(source)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(code)
        fresh.replace(kept)
    except OSError:
        pass  # a folder that cannot be written costs time, and nothing else
    return code


def _folder() -> Path | None:
    wish = os.environ.get(CACHE, "~/.cache/dovetail/xpu")
    return None if wish in ("", "off") else Path(wish).expanduser()


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
