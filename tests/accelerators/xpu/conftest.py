"""The backend `xpu` on the CPU's SYCL device; without dpctl its tests are skipped."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).resolve().parents[3] / "backends" / "xpu" / "src"
sys.path.append(str(SOURCES))  # where it is not installed


@pytest.fixture(scope="session")
def xpu() -> Any:
    """The backend, with the CPU as two devices."""
    if find_spec("dpctl") is None:
        pytest.skip("dpctl is not installed: pip install dpctl intel-opencl-rt")
    os.environ["DOVETAIL_XPU_ALLOW_CPU"] = "2"
    from dovetail.device_api import registry

    return registry.load("xpu")
