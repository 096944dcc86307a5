"""The compilers for devices take every kernel that is generated."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.device_compilers import (
    CUDA_TARGETS,
    HIP_TARGETS,
    OPENCL_TARGET,
    compiled_by_clang,
    compiled_for_cuda,
    has_clang,
    nvrtc,
)
from tests.support.device_forms import device_forms
from tests.support.drawn_kernels import FLOATS
from tests.support.forms import pointwise_forms
from tests.support.random_forms import random_forms
from tests.support.recorded_kernels import recorded_kernels

from dovetail.codegen.c_device import render
from dovetail.codegen.c_dialects import CUDA, OPENCL, Dialect, hip
from dovetail.codegen.ir import Kernel

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> list[Kernel]:
    """All pointwise ops and all kernels of the CPU, each under a name of its own."""
    recorded = recorded_kernels(tmp_path_factory.mktemp("forms"))
    found = [r.form for r in recorded]
    found += [form for dtype in FLOATS for form in pointwise_forms(dtype)]
    found += [*random_forms(), *device_forms()]
    return _numbered(found)


def _numbered(forms: list[Kernel]) -> list[Kernel]:
    return [
        Kernel(f"{f.name}_{i}", f.buffers, f.parameters, f.body, f.registers)
        for i, f in enumerate(forms)
    ]


@pytest.mark.skipif(not nvrtc(), reason="NVRTC is not installed")
@pytest.mark.parametrize("target", CUDA_TARGETS)
def test_nvrtc(forms: list[Kernel], target: str) -> None:
    """CUDA C compiles to machine code for each generation of processors."""
    options = [f"--gpu-architecture={target}", *CUDA.options]
    code = compiled_for_cuda(nvrtc()[-1], render(*forms, dialect=CUDA), options)
    for form in forms:
        assert form.name.encode() in code


@pytest.mark.parametrize("library", nvrtc()[:-1], ids=lambda path: path.name)
def test_an_older_nvrtc(forms: list[Kernel], library: Path) -> None:
    """CUDA C compiles with the compilers of former versions, too."""
    options = ["--gpu-architecture=sm_90", *CUDA.options]
    assert compiled_for_cuda(library, render(*forms, dialect=CUDA), options)


@pytest.mark.skipif(not nvrtc(), reason="NVRTC is not installed")
def test_nothing_is_fused_by_the_compiler(forms: list[Kernel]) -> None:
    """Machine code differs where the compiler may fuse products and sums itself."""
    text = render(*forms[:20], dialect=CUDA)
    target = "--gpu-architecture=sm_90"
    kept = compiled_for_cuda(nvrtc()[-1], text, [target, *CUDA.options])
    assert kept != compiled_for_cuda(nvrtc()[-1], text, [target])


@pytest.mark.skipif(not has_clang(), reason="ziglang is not installed")
@pytest.mark.parametrize("target", HIP_TARGETS)
def test_hip(forms: list[Kernel], target: str, tmp_path: Path) -> None:
    """HIP compiles for wavefronts of 64 threads and of 32."""
    dialect: Dialect = hip(HIP_TARGETS[target])
    code = compiled_by_clang(tmp_path, render(*forms, dialect=dialect), dialect, target)
    for form in forms:
        assert form.name.encode() in code


@pytest.mark.skipif(not has_clang(), reason="ziglang is not installed")
def test_opencl(forms: list[Kernel], tmp_path: Path) -> None:
    """OpenCL C 1.2 compiles."""
    text = render(*forms, dialect=OPENCL)
    code = compiled_by_clang(tmp_path, text, OPENCL, OPENCL_TARGET)
    for form in forms:
        assert form.name.encode() in code
