"""Compilers for devices that come from PyPI, and need none of the devices.

`pip install "dovetail[device-compilers]"` brings NVIDIA's NVRTC and a clang that knows
AMD's processors and OpenCL C (of `ziglang`).
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from functools import cache
from pathlib import Path

from dovetail.codegen.c_dialects import Dialect
from tests.support import child

CUDA_TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")
HIP_TARGETS = {"gfx90a": 64, "gfx942": 64, "gfx1100": 32}
OPENCL_TARGET = "spir64"
# What an OpenCL driver has built in; clang keeps it in headers that ziglang leaves out.
_OPENCL_BUILT_IN = """\
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define BUILT_IN __attribute__((overloadable, const))
__SIZE_TYPE__ BUILT_IN get_group_id(uint), BUILT_IN get_num_groups(uint);
__SIZE_TYPE__ BUILT_IN get_local_id(uint);
void __attribute__((overloadable, convergent)) barrier(uint);
float BUILT_IN fma(float, float, float), BUILT_IN sqrt(float), BUILT_IN floor(float);
float BUILT_IN trunc(float);
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
double BUILT_IN fma(double, double, double), BUILT_IN sqrt(double);
double BUILT_IN floor(double), BUILT_IN trunc(double);
#pragma OPENCL EXTENSION cl_khr_fp64 : disable
"""


@cache
def nvrtc() -> list[Path]:
    """The libraries of NVRTC that are installed, the newest one last."""
    found = importlib.util.find_spec("nvidia")
    folders = [] if found is None else found.submodule_search_locations or []
    libraries = [p for f in folders for p in Path(f).glob("*/lib/libnvrtc.so.*")]
    return sorted(libraries, key=lambda p: int(p.suffix[1:]))


def has_clang() -> bool:
    """Whether there is the clang of `ziglang`."""
    return importlib.util.find_spec("ziglang") is not None


def compiled_for_cuda(library: Path, text: str, options: list[str]) -> bytes:
    """The machine code for one of NVIDIA's processors."""
    api = ctypes.CDLL(str(library))
    program = ctypes.c_void_p()
    created = api.nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None
    )
    assert created == 0, created
    given = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    failed = api.nvrtcCompileProgram(program, len(options), given)
    told = _text_of(api, program, "ProgramLog")
    assert not failed, told.decode()
    code = _text_of(api, program, "CUBIN")
    api.nvrtcDestroyProgram(ctypes.byref(program))
    return code


def _text_of(api: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    assert api[f"nvrtcGet{what}Size"](program, ctypes.byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert api[f"nvrtcGet{what}"](program, text) == 0
    return text.raw


def compiled_by_clang(
    folder: Path, text: str, dialect: Dialect, target: str, *, limit: float = 300
) -> bytes:
    """Machine code for one of AMD's processors, or LLVM IR of OpenCL C."""
    source, made = folder / "kernels.cl", folder / f"kernels_{target}"
    built_in = _OPENCL_BUILT_IN if dialect.name == "OpenCL" else ""
    source.write_text(built_in + text)
    options = ["-nostdinc", "-Wall", "-Werror", "-Wno-unused", *dialect.options]
    if dialect.name == "HIP":
        options += ["-x", "hip", "--cuda-device-only", f"--offload-arch={target}"]
        options += ["-nogpuinc", "-nogpulib", "-O1", "-S"]
    else:
        options += ["-x", "cl", "-cl-std=CL1.2", "-cl-no-stdinc"]
        options += ["-target", target, "-emit-llvm", "-c"]
    child.run(
        sys.executable, "-m", "ziglang", "clang", *options, "-o", made, source,
        limit=limit,
    )  # fmt: skip
    return made.read_bytes()
