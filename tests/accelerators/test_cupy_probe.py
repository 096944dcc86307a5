"""Why there is no CUDA or ROCm device is said in words, with the remedy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.accelerators.stand_in_cupy import CUDARuntimeError, library

import dovetail_cuda
import dovetail_rocm
from dovetail.errors import BackendError, DeviceError
from dovetail_cupy.probe import CUDA, ROCM, Platform, count
from dovetail_cupy.probe import library as found

INSUFFICIENT = CUDARuntimeError(
    "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime"
)


def wheel(folder: Path, name: str) -> None:
    """The metadata of an installed distribution."""
    info = folder / f"{name.replace('-', '_')}-14.2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 14.2.0\n"
    )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed distributions, the only one."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    return tmp_path


def test_absent(site: Path) -> None:
    """Without CuPy, pip's command is the remedy."""
    with pytest.raises(BackendError, match=r"No module named 'cupy'.*cuda\[cuda12\]"):
        found(CUDA)


def test_two_wheels(site: Path) -> None:
    """Two wheels are refused before anything is imported of either."""
    wheel(site, "cupy-cuda12x")
    wheel(site, "cupy-rocm-7-0")
    (site / "cupy.py").write_text("raise SystemExit")
    with pytest.raises(BackendError, match="2 times: cupy-cuda12x, cupy-rocm-7-0"):
        found(ROCM)


@pytest.mark.parametrize(
    ("name", "platform"), [("cupy-cuda13x", ROCM), ("cupy-rocm-7-0", CUDA)]
)
def test_wheel_for_another_platform(site: Path, name: str, platform: Platform) -> None:
    """A wheel for the other platform is named before its import can fail."""
    wheel(site, name)
    with pytest.raises(BackendError, match=f"{name}, for .*an environment of its own"):
        found(platform)


def test_broken(site: Path) -> None:
    """What its import fails of is told, without the banner that CuPy puts around it."""
    wheel(site, "cupy-rocm-7-0")
    (site / "cupy.py").write_text(
        "try:\n    raise ImportError('libamdhip64.so.7: cannot open')\n"
        "except ImportError as cause:\n"
        "    raise ImportError('=====\\nmuch') from cause\n"
    )
    with pytest.raises(
        BackendError, match=r"importable: libamdhip64.so.7: cannot open"
    ):
        found(ROCM)


@pytest.mark.parametrize("platform", [CUDA, ROCM])
def test_own_build_for_another_platform(
    monkeypatch: pytest.MonkeyPatch, platform: Platform
) -> None:
    """A CuPy of no known wheel is asked for its platform."""
    monkeypatch.setitem(sys.modules, "cupy", library(1, hip=not platform.hip))
    with pytest.raises(BackendError, match=f"needed CuPy for {platform.name}"):
        found(platform)


@pytest.mark.parametrize(
    ("devices", "told"),
    [(INSUFFICIENT, "InsufficientDriver.*update"), (0, "none found.*VISIBLE_DEVICES")],
)
def test_no_devices(devices: Any, told: str) -> None:
    """A driver that does not answer, and one that shows no device, are told apart."""
    with pytest.raises(DeviceError, match=told):
        count(library(1, devices=devices), CUDA)


@pytest.mark.parametrize("package", [dovetail_cuda, dovetail_rocm])
def test_announced_without_cupy(package: Any) -> None:
    """The backend's class is there without CuPy; its instance says what is missing."""
    backend = package.dovetail_backend()
    assert package.__name__ == f"dovetail_{backend.type}"
    with pytest.raises((BackendError, DeviceError), match="CuPy"):
        backend()
