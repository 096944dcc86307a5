"""CUDA C to machine code, kept on disk by what it was made from.

CuPy's own way to NVRTC adds `-ftz=true`, by which subnormal numbers are lost, and with
them those of float16, which kernels widen by way of such numbers.
"""

from __future__ import annotations

from typing import Any

from dovetail.codegen.runtime.objects import objects
from dovetail.errors import KernelError


def function_of(cupy: Any, text: str, name: str, options: tuple[str, ...]) -> Any:
    """The function `name` of a text, for the current device; CuPy's `Function`."""
    module = cupy.cuda.Module()
    module.load(code_of(cupy, text, name, options))
    return module.get_function(name)


def code_of(cupy: Any, text: str, name: str, options: tuple[str, ...]) -> bytes:
    """Machine code for the current device, from the disk where it was made before."""
    capability = cupy.cuda.Device().compute_capability
    options = (*options, f"--gpu-architecture=sm_{capability}")
    key = repr(("cuda", cupy.cuda.nvrtc.getVersion(), options, text))
    code = objects().get(key)
    if code is None:
        code = compiled(cupy.cuda.nvrtc, text, name, options)
        objects().put(key, code)
    return code


def compiled(nvrtc: Any, text: str, name: str, options: tuple[str, ...]) -> bytes:
    """What NVRTC makes of a text.

    Raises:
        KernelError: it refuses the text; what it says is told.
    """
    program = nvrtc.createProgram(text, f"{name}.cu", (), ())
    try:
        try:
            nvrtc.compileProgram(program, options)
        except nvrtc.NVRTCError as error:
            raise KernelError(
                f"kernel {name}", "text", was=_told(nvrtc, program) or str(error),
                needed="one that NVRTC compiles",
                remedy="set DOVETAIL_KERNELS=0 to go without generated kernels",
            ) from error  # fmt: skip
        code: bytes = nvrtc.getCUBIN(program)
    finally:
        nvrtc.destroyProgram(program)
    return code


def _told(nvrtc: Any, program: Any) -> str:
    return str(nvrtc.getProgramLog(program)).strip()[:500]
