"""Generated kernels on a device: compiled when first called, launched by CuPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail.codegen.c_device import THREADS, blocks_for, is_in_chunks, render
from dovetail.codegen.c_dialects import CUDA, Dialect, hip
from dovetail.codegen.ir import Kernel

Launch = Callable[[Sequence[Any], Sequence[Any], int], None]
"""Runs a kernel: given its arrays, its parameters, and how many items there are."""


class Machine(ABC):
    """What runs generated kernels on arrays of a library.

    Attributes:
        xp: the library.
    """

    xp: Any

    @abstractmethod
    def launcher(self, kernel: Kernel) -> Launch:
        """What runs this kernel; compiles it, now or when it is first called."""


class CupyMachine(Machine):
    """CuPy's compilers, NVRTC or hiprtc, which keep what they made on disk."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        self._dialect: Dialect | None = None

    def dialect(self) -> Dialect:
        """The language of the platform, for warps as long as the first device's."""
        if self._dialect is None:
            runtime = self.xp.cuda.runtime
            if runtime.is_hip:
                self._dialect = hip(int(runtime.getDeviceProperties(0)["warpSize"]))
            else:
                self._dialect = CUDA
        return self._dialect

    def launcher(self, kernel: Kernel) -> Launch:
        dialect = self.dialect()
        text = render(kernel, dialect=dialect)
        raw = self.xp.RawKernel(text, kernel.name, options=dialect.options)
        types = [np.dtype(dtype).type for _, dtype in kernel.parameters]
        chunks = is_in_chunks(kernel)

        def launch(arrays: Sequence[Any], numbers: Sequence[Any], count: int) -> None:
            typed = [t(n) for t, n in zip(types, numbers, strict=True)]
            items = [np.int64(0), np.int64(count)]
            if chunks:  # one block does all of them
                items.append(np.int64(max(count, 1)))
            blocks = blocks_for(kernel, count, max(count, 1))
            raw((blocks,), (THREADS,), (*arrays, *typed, *items))

        return launch
