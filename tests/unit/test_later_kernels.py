"""Kernels of families that load after the backend."""

from __future__ import annotations

import sys

import pytest
from tests.support import child

from dovetail.codegen.runtime.machine import available

LATER = """
import sys, dovetail
x = dovetail.ones(99)
dovetail.special.{0}
assert "llvmlite" not in sys.modules
{1}
assert "llvmlite" in sys.modules
"""
CALLS = {
    "airy_ai": "dovetail.special.airy_ai(x)",
    "gammainc": "dovetail.special.gammainc(x, x)",
    "polygamma": "dovetail.polygamma(3, x)",
    "modified_bessel_k1": "dovetail.special.modified_bessel_k1(x)",
}


@pytest.mark.skipif(not available(), reason="kernels cannot be compiled")
@pytest.mark.parametrize("name", CALLS)
def test_bodies_of_later_families_are_compiled(name: str) -> None:
    """Though the backend's table was there before their ops were declared."""
    child.run(sys.executable, "-c", LATER.format(name, CALLS[name]))
