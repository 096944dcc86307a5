"""A kernel in memory: found by its key, compiled when first asked for, and run."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from dovetail.codegen.runtime import machine
from dovetail.codegen.runtime.kernel_log import log

_ENTRY: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)  # releases Python's lock while it runs

_kernels: Final[dict[str, Kernel]] = {}
_lock: Final = Lock()


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Machine code of one kernel.

    Args:
        name: the name of its function.
        address: where its function begins.
        size: bytes of object code.
        entry: the function, for ctypes.
    """

    name: str
    address: int
    size: int
    entry: Callable[[int, int, int], Any]

    def run(self, arguments: int, count: int, grain: int) -> None:
        """Do `count` pieces of work, in chunks of `grain`.

        Args:
            arguments: the address of the words that the kernel gets, which have to
                stay where they are until this returns.
            count: how many pieces there are.
            grain: how many make a chunk; several chunks may run at the same time.
        """
        self.entry(arguments, 0, count)


def kernel(name: str, text: str | Callable[[], str], key: str = "") -> Kernel:
    """The kernel of this key, compiled if it is new.

    Args:
        name: the name of its function.
        text: the module of LLVM IR, or what writes it, called where the key is new.
        key: what tells the kernel from all others, with everything that its text
            depends on except the machine; by default its text.
    """
    if not key:
        text = key = text if isinstance(text, str) else text()
    key = f"{name}\n{key}"
    found = _kernels.get(key)
    if found is None:
        with _lock:
            found = _kernels.get(key)
            if found is None:
                found = _kernels[key] = _made(name, text)
    return found


def _made(name: str, text: str | Callable[[], str]) -> Kernel:
    began = time.perf_counter()
    code = machine.compiled(text if isinstance(text, str) else text())
    (address,) = machine.linked(code, (name,))
    spent = (time.perf_counter() - began) * 1e3
    log(f"{name} compiled in {spent:.1f} ms, {len(code)} bytes")
    return Kernel(name, address, len(code), _ENTRY(address))
