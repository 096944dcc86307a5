"""Generated kernels on the arrays of `strict`, run by the emulated device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.emulator import Emulated

from dovetail.codegen.ir import Kernel
from dovetail_cupy.launch import Launch, Machine
from dovetail_strict.library import Library


class EmulatedMachine(Machine):
    """A device with warps of so many threads; each kernel is compiled when first run.

    Attributes:
        ran: the names of the kernels that were launched, in order.
    """

    def __init__(self, folder: Path, warp: int) -> None:
        self.xp = Library()
        self.ran: list[str] = []
        self._folder, self._warp = folder, warp
        self._count = 0

    def launcher(self, kernel: Kernel, apart: bool = False) -> Launch:
        made: list[Emulated] = []
        types = [np.dtype(dtype) for _, dtype in kernel.parameters]

        def launch(arrays: Sequence[Any], numbers: Sequence[Any], count: int) -> None:
            if not made:
                self._count += 1
                folder = self._folder / str(self._count)
                folder.mkdir()
                made.append(Emulated(folder, [kernel], self._warp, apart=apart))
            words = [_word(t, n) for t, n in zip(types, numbers, strict=True)]
            self.ran.append(kernel.name)
            made[0].call(0, [a.numpy for a in arrays], count, *words)

        return launch


def _word(dtype: np.dtype[Any], number: Any) -> int:
    return int.from_bytes(dtype.type(number).tobytes(), "little")
