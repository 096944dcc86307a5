"""Kernels for devices, run on the CPU by a device that is emulated."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.codegen.c_device import blocks_for, is_in_chunks, render
from dovetail.codegen.c_dialects import TYPES, Dialect
from dovetail.codegen.c_values import in_memory
from dovetail.codegen.ir import Kernel
from tests.support import child
from tests.support.generated import target

COMPILER = shutil.which("c++")
FLAGS = "-std=c++17 -O0 -march=native -ffp-contract=off -fPIC -shared -w"
HEAD = Path(__file__).with_name("emulator.h")
THREADS = 128
Array = np.ndarray[Any, Any]


def emulated(warp: int) -> Dialect:
    """The dialect of the emulated device."""
    return Dialect("emulated", f'#include "{HEAD}"\n', warp=warp)


class Emulated:
    """A library of kernels for a device with warps of so many threads.

    Args:
        planted: what to do to the text before it is compiled.
        apart: their arrays share no memory.
    """

    def __init__(
        self, folder: Path, kernels: Sequence[Kernel], warp: int,
        threads: int = THREADS, planted: Callable[[str], str] = str,
        apart: bool = False,
    ) -> None:  # fmt: skip
        self._kernels = [replace(k, name=f"k{i}") for i, k in enumerate(kernels)]
        self._threads = threads
        text = render(
            *self._kernels, dialect=emulated(warp), threads=threads,
            fused=target().fused, apart=apart,
        )  # fmt: skip
        source, library = folder / f"w{warp}.cpp", folder / f"w{warp}.so"
        source.write_text("\n".join([planted(text), *map(_entry, self._kernels)]))
        child.run(COMPILER, *FLAGS.split(), "-o", library, source)
        self._library = ctypes.CDLL(str(library))

    def call(
        self, number: int, arrays: Sequence[Array], count: int, *numbers: int,
        blocks: int | None = None, grain: int | None = None,
    ) -> None:  # fmt: skip
        """Run a kernel for the items 0 to `count`, by so many blocks or in chunks."""
        words = (ctypes.c_uint64 * (len(arrays) + len(numbers)))(
            *[a.ctypes.data for a in arrays], *[n % 2**64 for n in numbers]
        )
        kernel, grain = self._kernels[number], grain or count
        if blocks is None or is_in_chunks(kernel):
            blocks = blocks_for(kernel, count, max(grain, 1), self._threads)
        function = self._library[f"launch_k{number}"]
        faults = function(words, *map(ctypes.c_int64, (count, blocks, grain)))
        assert faults == 0, f"threads that did not meet: {faults}"


def _entry(kernel: Kernel) -> str:
    """A function that C can call, which takes a kernel's arguments from words."""
    given = [
        f"({'' if b.written else 'const '}{in_memory(b.dtype)} *)words[{i}]"
        for i, b in enumerate(kernel.buffers)
    ]
    for i, (_, dtype) in enumerate(kernel.parameters, len(kernel.buffers)):
        given.append(f"*({TYPES[dtype]} *)(words + {i})")
    given += ["0", "device::last", *(["device::grain"] if is_in_chunks(kernel) else [])]
    return (
        f"static void body_{kernel.name}() {{ void **words = device::words; "
        f"{kernel.name}({', '.join(given)}); }}\n"
        f'extern "C" int launch_{kernel.name}'
        f"(void **words, i64 last, i64 blocks, i64 grain) {{\n"
        f"  device::words = words; device::last = last; device::grain = grain;\n"
        f"  return device::launch(blocks, body_{kernel.name});\n}}\n"
    )
