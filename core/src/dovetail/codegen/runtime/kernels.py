"""A kernel in memory: found by its key, compiled when first asked for, and run."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from dovetail.codegen.runtime import machine
from dovetail.codegen.runtime.assembly import assembled
from dovetail.codegen.runtime.pool import POOL

_ENTRY: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)  # releases Python's lock while it runs

CHUNKS: Final = 1024
"""How many chunks are done between two looks at signals."""

_kernels: Final[dict[str, Kernel]] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Machine code of one kernel.

    Args:
        name: the name of its function.
        address: where its function begins.
        size: bytes of object code.
        entry: the function, for ctypes: of the words, at an address or as bytes, and of
            the first piece and the one behind the last.
    """

    name: str
    address: int
    size: int
    entry: Callable[[int | bytes, int, int], Any]

    def run(
        self, arguments: int, count: int, grain: int, *, whole: bool = False
    ) -> None:
        """Do `count` pieces of work, in chunks of `grain`, by all threads of the pool.

        Ctrl-C ends it after the chunks that are being done, unless it shall be `whole`.

        Args:
            arguments: the address of the words that the kernel gets, which have to
                stay where they are until this returns.
            count: how many pieces there are.
            grain: how many make a chunk; several chunks may run at the same time.
            whole: whether it writes what must not be left half written.
        """
        if count <= grain:
            self.entry(arguments, 0, count)
            return
        step = count if whole else grain * CHUNKS
        for low in range(0, count, step):
            high = min(low + step, count)
            if POOL.size > 1:
                POOL.run(self.address, arguments, low, high, grain)
            else:
                self.entry(arguments, low, high)


def key_of(*facts: Any) -> str:
    """A key of what a kernel is written from, by which it is found without its text.

    Args:
        facts: what its text depends on, whose `repr` says all of it. What writes it is
            added.
    """
    return "\n".join([_writers(), *map(repr, facts)])


@cache
def _writers() -> str:
    """What tells the modules that write kernels from those of other versions."""
    folder = Path(__file__).parents[1]
    found = [(f.name, f.stat()) for f in os.scandir(folder) if f.name.endswith(".py")]
    return str(sorted((name, s.st_size, s.st_mtime_ns) for name, s in found))


def kernel(name: str, text: str | Callable[[], str], key: str = "") -> Kernel:
    """The kernel of this key, compiled if it is new.

    Args:
        name: the name of its function.
        text: the module of LLVM IR, or what writes it, called where the key is new.
        key: what tells the kernel from all others, in this and in other versions: all
            that its text depends on except the machine. By default its text.
    """
    if not key:
        text = key = text if isinstance(text, str) else text()
    key = f"{name}\n{key}"
    found = _kernels.get(key)
    if found is None:
        with machine.lock:
            found = _kernels.get(key)
            if found is None:
                made = assembled((name,), text, key)
                (address,) = made.addresses
                found = Kernel(name, address, made.size, _ENTRY(address))
                _kernels[key] = found
        _tell()
    return found


def _tell() -> None:
    """Call what waits for the first kernel."""
    while machine.waiting:
        with suppress(IndexError):  # another thread was quicker
            machine.waiting.pop()()
