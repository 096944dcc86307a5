"""Kernels that were written as C, compiled by the system's compiler and run."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.codegen.c_text import render
from dovetail.codegen.ir import Kernel
from tests.support import child
from tests.support.generated import target

COMPILER = shutil.which("cc")
FLAGS = (
    "-std=c11 -O1 -march=native -ffp-contract=off -fPIC -shared "
    "-Wall -Werror -Wno-unused-variable"
)
Array = np.ndarray[Any, Any]


class Compiled:
    """A library of kernels, compiled in one go."""

    def __init__(self, folder: Path, kernels: Sequence[Kernel]) -> None:
        named = [replace(kernel, name=f"k{i}") for i, kernel in enumerate(kernels)]
        source, library = folder / "kernels.c", folder / "kernels.so"
        source.write_text(render(*named, fused=target().fused))
        child.run(COMPILER, *FLAGS.split(), "-o", library, source, "-lm")
        self._library = ctypes.CDLL(str(library))

    def call(
        self, number: int, arrays: Sequence[Array], count: int, *numbers: int
    ) -> None:
        """Run a kernel for the items 0 to `count`."""
        words = (ctypes.c_uint64 * (len(arrays) + len(numbers)))(
            *[a.ctypes.data for a in arrays], *[n % 2**64 for n in numbers]
        )
        self.run(number, words, count)

    def run(self, number: int, words: ctypes.Array[Any], count: int) -> None:
        """Run a kernel for the items 0 to `count`, on a table that is written."""
        function = self._library[f"k{number}"]
        function.restype = None
        function(words, ctypes.c_int64(0), ctypes.c_int64(count))
