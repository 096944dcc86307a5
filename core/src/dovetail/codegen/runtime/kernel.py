"""A kernel in memory: found by its key, compiled when first asked for, and run."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from dovetail.codegen.runtime import machine
from dovetail.codegen.runtime.kernel_log import log
from dovetail.codegen.runtime.objects import objects

_ENTRY: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)  # releases Python's lock while it runs

_kernels: Final[dict[str, Kernel]] = {}


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
        with machine.lock:
            found = _kernels.get(key)
            if found is None:
                found = _kernels[key] = _made(name, text, key)
    return found


def _made(name: str, text: str | Callable[[], str], key: str) -> Kernel:
    key = f"{key}\n{machine.recipe()}"
    began = time.perf_counter()
    (address,), size, how = assembled((name,), text, key)
    spent = (time.perf_counter() - began) * 1e3
    log(f"{name} {how} in {spent:.1f} ms, {size} bytes")
    return Kernel(name, address, size, _ENTRY(address))


def assembled(
    names: tuple[str, ...], text: str | Callable[[], str], key: str
) -> tuple[tuple[int, ...], int, str]:
    """The addresses of functions of a module, its size, and where it came from."""
    kept = objects()
    code = kept.get(key)
    if code is not None:
        with suppress(ValueError):  # an old entry of the same key: as if not there
            return machine.linked(code, names), len(code), "loaded"
    code = machine.compiled(text if isinstance(text, str) else text())
    addresses = machine.linked(code, names)
    kept.put(key, code)
    return addresses, len(code), "compiled"
