"""Generated kernels on a device: compiled when first called, launched by CuPy."""

from __future__ import annotations

import ctypes
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from dovetail.codegen.c_device import THREADS, blocks_for, is_in_chunks, render
from dovetail.codegen.c_dialects import CUDA, Dialect, hip
from dovetail.codegen.ir import Kernel
from dovetail_cupy.compiler import function_of

Launch = Callable[[Sequence[Any], Sequence[Any], int], None]
"""Runs a kernel: given its arrays, its parameters, and how many items there are."""


class Machine(ABC):
    """What runs generated kernels on arrays of a library.

    Attributes:
        xp: the library.
    """

    xp: Any

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array in row-major order, with whatever its memory holds."""
        return self.xp.empty(shape, dtype)

    def may_share(self, a: Any, b: Any) -> bool:
        """Whether two arrays may have memory in common."""
        return bool(self.xp.may_share_memory(a, b))

    def in_rows(self, a: Any) -> Any:
        """An array in row-major order: itself, or a copy."""
        return a if a.flags.c_contiguous else self.xp.ascontiguousarray(a)

    @abstractmethod
    def launcher(self, kernel: Kernel, apart: bool = False) -> Launch:
        """What runs this kernel; compiles it, now or when it is first called.

        Args:
            apart: none of its arrays will share memory with another one.
        """


class Forms:
    """Kernels by what makes them, each made once.

    Args:
        machine: what runs them.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._launches: dict[tuple[Any, ...], Launch] = {}

    def run(
        self, form: tuple[Any, ...], arrays: Sequence[Any], numbers: Sequence[Any],
        count: int,
    ) -> None:  # fmt: skip
        """Launch a kernel for so many items, unless there are none.

        Args:
            form: a function that makes it, and what that is given.
        """
        if not count:
            return
        launch = self._launches.get(form)
        if launch is None:
            make, *given = form
            launch = self._launches[form] = self._machine.launcher(make(*given))
        launch(arrays, numbers, count)


def steps(a: Any) -> tuple[int, ...]:
    """Strides in elements."""
    size = a.itemsize
    return tuple([s // size for s in a.strides])


class CupyMachine(Machine):
    """CuPy's compilers, NVRTC or hiprtc, which keep what they made on disk."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        self.empty = cupy.ndarray  # what `cupy.empty` makes, without its wrapping
        # By text and device, for good: graphs have what their kernels' owners let go.
        self._functions: dict[tuple[str, int], Any] = {}
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

    def may_share(self, a: Any, b: Any) -> bool:
        # Blocks of memory are nobody else's; within one, CuPy looks.
        if a.data.mem is not b.data.mem:
            return False
        return bool(self.xp.may_share_memory(a, b))

    def launcher(self, kernel: Kernel, apart: bool = False) -> Launch:
        make = partial(self._function, kernel, apart)
        return Launcher(self.xp, kernel, make).launch

    def _function(self, kernel: Kernel, apart: bool) -> Any:
        """CuPy's `Function` for the current device."""
        dialect, runtime = self.dialect(), self.xp.cuda.runtime
        text = render(kernel, dialect=dialect, apart=apart)
        key = text, runtime.getDevice()
        found = self._functions.get(key)
        if found is None:
            name, options = kernel.name, dialect.options
            if runtime.is_hip:
                found = self.xp.RawKernel(text, name, options=options).kernel
            else:
                found = function_of(self.xp, text, name, options)
            self._functions[key] = found
        return found


class Launcher:
    """Launches one kernel by the driver's own function: half the time of CuPy's way.

    Args:
        cupy: tells the current device and stream.
        kernel: what it takes.
        make: compiles it for the current device; CuPy's `Function` comes of it.
    """

    def __init__(self, cupy: Any, kernel: Kernel, make: Callable[[], Any]) -> None:
        from cupy_backends.cuda.api.driver import launchKernel

        self._start = launchKernel
        self._make = make
        self._device = cupy.cuda.runtime.getDevice
        self._stream = cupy.cuda.get_current_stream
        self._functions: dict[int, Any] = {}
        self._arguments = Arguments(len(kernel.buffers), kernel.parameters)
        self._in_chunks = is_in_chunks(kernel)
        # One block does all chunks that have something in common.
        whole = self._in_chunks
        self._blocks = lru_cache(256)(
            lambda count: blocks_for(kernel, count, max(count, 1) if whole else 1)
        )

    def launch(self, arrays: Sequence[Any], numbers: Sequence[Any], count: int) -> None:
        """Run the kernel on the current stream."""
        index = self._device()
        function = self._functions.get(index)
        if function is None:
            function = self._functions[index] = self._make()
        items = (0, count, max(count, 1)) if self._in_chunks else (0, count)
        frame = self._arguments.filled([a.data.ptr for a in arrays], numbers, items)
        stream = self._stream().ptr
        self._start(
            function.ptr, self._blocks(count), 1, 1, THREADS, 1, 1, 0, stream,
            frame.address, 0,
        )  # fmt: skip
        self._arguments.spare.append(frame)  # the driver has read it


class _Frame:
    """Memory for the arguments of a launch, eight bytes each, and their addresses."""

    __slots__ = ("_addresses", "address", "words")

    def __init__(self, count: int) -> None:
        self.words = (ctypes.c_uint64 * count)()
        first = ctypes.addressof(self.words)
        self._addresses = (ctypes.c_void_p * count)(*range(first, first + 8 * count, 8))
        self.address = ctypes.addressof(self._addresses)


class Arguments:
    """How the arguments of a kernel are laid out, and memory for those of a launch.

    Args:
        arrays: how many there are.
        parameters: the dtypes of the numbers behind them, with their names.

    Attributes:
        spare: frames that nobody uses; each launch has one of its own.
    """

    def __init__(self, arrays: int, parameters: Sequence[tuple[str, str]]) -> None:
        self._types = [np.dtype(dtype) for _, dtype in parameters]
        codes = [_CODES[dtype.name] for dtype in self._types]
        more = "q" * 3  # what items there are; some kernels do not read the last
        self._count = arrays + len(codes) + 3
        self._pack = struct.Struct("=" + "Q" * arrays + "".join(codes) + more).pack_into
        self.spare: list[_Frame] = []

    def filled(
        self, addresses: list[int], numbers: Sequence[Any], items: tuple[int, ...]
    ) -> _Frame:
        """A frame with these arguments."""
        try:
            frame = self.spare.pop()
        except IndexError:
            frame = _Frame(self._count)
        last = items[2] if len(items) > 2 else 0
        try:
            self._pack(frame.words, 0, *addresses, *numbers, items[0], items[1], last)
        except (struct.error, OverflowError, TypeError):  # what a dtype has no room for
            with np.errstate(all="ignore"):
                typed = [
                    np.asarray(n).astype(t).item()
                    for n, t in zip(numbers, self._types, strict=True)
                ]
            self._pack(frame.words, 0, *addresses, *typed, items[0], items[1], last)
        return frame


# Of `struct`, each filled up to eight bytes.
_CODES: Final = {
    "bool": "?7x", "int8": "b7x", "uint8": "B7x", "int16": "h6x", "uint16": "H6x",
    "int32": "i4x", "uint32": "I4x", "int64": "q", "uint64": "Q", "float32": "f4x",
    "float64": "d",
}  # fmt: skip
