"""NumPy arrays as kernels see them: addresses, for the processor of this machine."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.llvm_target import Target

Array = np.ndarray[Any, Any]


@cache
def target() -> Target:
    """The processor of this machine."""
    host = runtime.host()
    return Target.of(host.cpu, host.features)


# ---- addresses

_PLACE: Final = 16  # bytes into an array object, where NumPy keeps the address
_from_address: Final = ctypes.c_uint64.from_address


def _is_there() -> bool:
    """Whether arrays keep their address where it is looked for."""
    probe = np.zeros(3, np.int8)[1:]
    return _from_address(id(probe) + _PLACE).value == int(probe.ctypes.data)


def _read(a: Array) -> int:
    return _from_address(id(a) + _PLACE).value


def _asked(a: Array) -> int:
    return int(a.ctypes.data)


address: Final = _read if _is_there() else _asked
"""The address of an array's first element: read where it lies, in a tenth of the time
that asking for it takes."""
