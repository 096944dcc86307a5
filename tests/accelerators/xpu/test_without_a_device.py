"""Without its runtime, or without a device, the backend says what is missing."""

import sys
from typing import Any

import pytest

from dovetail.errors import BackendError
from dovetail_xpu import runtime
from dovetail_xpu.compiler import CACHE, spirv_of


class Kind:
    """A backend of SYCL, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name


class Sycl:
    """A device as SYCL lists it."""

    def __init__(self, name: str, backend: str, *, gpu: bool = True) -> None:
        self.name = name
        self.backend = Kind(backend)
        self.is_gpu, self.is_cpu = gpu, not gpu
        self.max_compute_units = 8

    def create_sub_devices(self, partition: int) -> list[str]:
        """As many parts as there are."""
        return [f"{partition} units"] * (self.max_compute_units // partition)


def listed(monkeypatch: pytest.MonkeyPatch, *found: Sycl) -> list[Any]:
    """What is used where SYCL finds these."""

    class Dpctl:
        get_devices = staticmethod(lambda: list(found))

    monkeypatch.setattr(runtime, "loaded_dpctl", lambda: Dpctl)
    return runtime.sycl_devices()


def test_without_dpctl_the_reason_names_the_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What cannot be imported is named, with the command that installs it."""
    monkeypatch.setitem(sys.modules, "dpctl", None)
    with pytest.raises(BackendError, match="pip install dpctl intel-opencl-rt"):
        runtime.loaded_dpctl()


def test_a_cpu_is_not_used_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason says what SYCL finds, and which variable lets it be used."""
    monkeypatch.delenv(runtime.ALLOW_CPU, raising=False)
    with pytest.raises(BackendError, match=f"finds Plain CPU.*{runtime.ALLOW_CPU}=1"):
        listed(monkeypatch, Sycl("Plain CPU", "opencl", gpu=False))


def test_a_cpu_is_used_where_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one device, or in as many parts as were asked for."""
    cpu = Sycl("Plain CPU", "opencl", gpu=False)
    monkeypatch.setenv(runtime.ALLOW_CPU, "1")
    assert listed(monkeypatch, cpu) == [cpu]
    monkeypatch.setenv(runtime.ALLOW_CPU, "2")
    assert listed(monkeypatch, cpu) == ["4 units", "4 units"]


def test_without_a_driver_the_reason_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the CPU is allowed and SYCL finds nothing, its driver is missing."""
    monkeypatch.setenv(runtime.ALLOW_CPU, "1")
    with pytest.raises(BackendError, match="no device, needed a CPU driver"):
        listed(monkeypatch)


def test_what_the_variable_says_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything else is refused by the variable's name."""
    monkeypatch.setenv(runtime.ALLOW_CPU, "yes")
    with pytest.raises(BackendError, match=f"{runtime.ALLOW_CPU} is 'yes'"):
        runtime.cpu_parts()


def test_gpus_of_level_zero_come_first_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A card that OpenCL shows again is one device."""
    arc, again = Sycl("Arc", "level_zero"), Sycl("Arc", "opencl")
    old, cpu = Sycl("Old", "opencl"), Sycl("Plain CPU", "opencl", gpu=False)
    monkeypatch.setenv(runtime.ALLOW_CPU, "1")
    assert listed(monkeypatch, again, old, cpu, arc) == [arc, old]


def test_compiled_kernels_are_kept_by_their_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """The second time a text is not compiled; another text is."""
    asked = []

    def compiled(source: str) -> bytes:
        asked.append(source)
        return source.encode()

    monkeypatch.setattr("dovetail_xpu.compiler.compiled", compiled)
    monkeypatch.setenv(CACHE, str(tmp_path / "spirv"))
    assert [spirv_of(s) for s in ("a", "b", "a")] == [b"a", b"b", b"a"]
    assert asked == ["a", "b"]
