"""Devices that are the CPU with faults of every kind; workers import it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dovetail import dtypes
from dovetail.device_api import KernelTable, Unwritten, registry
from dovetail_cpu.backend import CpuBackend

Kernel = Callable[..., Any]
_calls: list[str] = []
_turn: list[int] = []


def on_scalars(deed: Callable[[], Any], sound: Kernel) -> Kernel:
    """A kernel that fails on arrays without dimensions, one example of each check."""

    def kernel(a: Any) -> Any:
        if a.ndim == 0:
            deed()
        return sound(a)

    return kernel


def exit_at_once() -> None:
    """As a library does that calls `exit` on an error."""
    print("the device is on fire", file=sys.stderr)
    os._exit(3)


def fault() -> None:
    """A read of address 0."""
    ctypes.string_at(0)


def hang() -> None:
    """Wait for what never comes."""
    while True:
        time.sleep(60)


def run_out() -> None:
    """As an allocator does."""
    raise MemoryError("no 3 GiB left")


def be_killed() -> None:
    """As the kernel does where memory is overcommitted."""
    os.kill(os.getpid(), signal.SIGKILL)


def unwritten(a: Any) -> Any:
    """What a new backend begins with."""
    raise Unwritten("sigmoid: 1 / (1 + exp(-a))")


def chatty(a: Any) -> Any:
    """Prints what looks like answers, through Python and past it."""
    print('\x1e{"ok": "everything is fine"}')
    os.write(1, b'\x1e{"ok": 1}\n')
    return np.sign(np.nan_to_num(a))


def remembers(a: Any) -> Any:
    """Counts itself, to disturb `disturbed`."""
    _calls.append("exp")
    return np.exp(a)


def disturbed(a: Any) -> Any:
    """Right only where the other kernel never ran in this process."""
    return -a + len(_calls) if _calls else -a


def every_other_time(a: Any) -> Any:
    """Wrong in every other process that calls it; a file counts them."""
    counter = Path(os.environ["BROKEN_COUNTER"])
    if not _turn:
        counter.write_text(counter.read_text() + "x")
        _turn.append(len(counter.read_text()))
    return np.square(a) + (_turn[0] + 1) % 2


KERNELS: dict[str, Kernel] = {
    "relu": on_scalars(exit_at_once, lambda a: np.maximum(a, 0)),
    "abs": on_scalars(fault, np.abs),
    "floor": on_scalars(hang, np.floor),
    "ceil": on_scalars(run_out, np.ceil),
    "trunc": on_scalars(be_killed, np.trunc),
    "sigmoid": unwritten,
    "sign": chatty,
    "exp": remembers,
    "neg": disturbed,
    "square": every_other_time,
    "silu": lambda a: a + 1,
}


class BrokenBackend(CpuBackend):
    """The CPU's memory and kernels, but for those above in float32."""

    type = "broken"
    automatic = False

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        for name, function in KERNELS.items():
            table.add(name, function, dtypes={dtypes.float32}, rank=100)


class MuteBackend(CpuBackend):
    """The CPU, with the first function still to be written."""

    type = "mute"
    automatic = False

    def copy_out(self, a: Any) -> Any:
        raise Unwritten("copy_out")


class HalfBackend(CpuBackend):
    """The CPU, with memory that is wrong in two dtypes."""

    type = "half"
    automatic = False

    def view(self, a: Any, shape: Any, strides: Any, offset: int) -> Any:
        """Looks at the wrong place in float64."""
        found = super().view(a, shape, strides, offset)
        return found[..., ::-1] if found.dtype == np.float64 and found.ndim else found

    def fill(self, a: Any, value: Any) -> None:
        """Sets another number in int64."""
        super().fill(a, value if a.dtype != np.int64 else 3)


registry.register(BrokenBackend())
registry.register(HalfBackend())
registry.register(MuteBackend())
