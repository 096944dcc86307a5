"""Generated kernels run on arrays, in memory that shows whoever writes beside it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Store
from dovetail.codegen.llvm_target import Target
from dovetail.codegen.llvm_text import render
from dovetail.codegen.values import Term, index, load

Array = np.ndarray[Any, Any]
GUARD = 256  # bytes before and behind an array
FILL = 0xA5


def target(fused: bool = True, vector: int | None = None) -> Target:
    """This machine, or what it would be with other vectors."""
    host = runtime.host()
    own = Target.of(host.cpu, host.features)
    return Target(own.cpu, own.features, vector or own.vector, fused and own.fused)


def guarded(count: int, dtype: str, offset: int = 0) -> tuple[Array, Array]:
    """(bytes, an array of `count` elements among them), all bytes alike."""
    size = np.dtype(dtype).itemsize * count
    memory = np.full(size + 2 * GUARD, FILL, np.uint8)
    start = GUARD + offset * np.dtype(dtype).itemsize
    return memory, memory[start : start + size].view(dtype)


def untouched(memory: Array, inner: Array) -> bool:
    """Whether the bytes around an array are as they were."""
    start = inner.ctypes.data - memory.ctypes.data
    outside = np.concatenate([memory[:start], memory[start + inner.nbytes :]])
    return bool((outside == FILL).all())


def call(kernel: Kernel, arrays: Sequence[Array], count: int, *numbers: int,
         on: Target | None = None) -> None:  # fmt: skip
    """Run a kernel for the items 0 to `count`."""
    words = (ctypes.c_uint64 * (len(arrays) + len(numbers)))(
        *[a.ctypes.data for a in arrays], *[n % 2**64 for n in numbers]
    )
    code = runtime.kernel(kernel.name, render(kernel, on or target()))
    code.run(ctypes.addressof(words), count, max(count, 1))


def of_each(make: Callable[[Term], Term], dtype: str) -> Kernel:
    """y = make(x) for each element."""
    x, i = Buffer("x", dtype), index("i")
    y = make(load(x, i))
    out = Buffer("y", y.dtype, written=True)
    store = Store(out, i.value, y.value)
    return Kernel("each", (x, out), (), (Loop("lane", i.value, FIRST, LAST, (store,)),))
