"""Memory of large arrays on the CPU, which is used again instead of mapped anew."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.codegen.runtime import available
from dovetail.codegen.runtime.kernel_log import log
from dovetail.device_api.contract import Ints
from dovetail.device_api.numpy_pool import NumpyPool
from dovetail.dtypes import DType
from dovetail.errors import NotSupported

if TYPE_CHECKING:
    from dovetail.codegen.runtime.blocks import Blocks

ENOUGH: Final = 1 << 20
"""Bytes of an array with which keeping memory begins: it takes some milliseconds."""

Array = np.ndarray[Any, Any]


class KeptMemory(NumpyPool):
    """A backend of NumPy arrays that keeps the memory of large ones for the next.

    It begins when a large array is first made or lent: then the context that kernels
    run in, where NumPy finds its allocator, gets another one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._blocks: Blocks | None = None
        self._wants_blocks = available()
        self._begins = threading.Lock()

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        a = super().empty(shape, dtype, index)
        if a.nbytes < ENOUGH:
            return a
        self._begin()
        return self._within(np.empty, a.shape, a.dtype)

    def copy_in(self, host: Array, index: int) -> Array:
        if host.nbytes < ENOUGH:
            return super().copy_in(host, index)
        self._begin()
        return self._within(super().copy_in, host, index)

    def adopt(self, array: Array) -> Array:
        if array.nbytes >= ENOUGH:
            self._begin()
        return array if type(array) is np.ndarray else np.asarray(array)

    def counts(self, index: int) -> Mapping[str, int]:
        found = dict(super().counts(index))
        kept = 0 if self._blocks is None else int(self._blocks.state.kept)
        live = found["allocated_bytes.all.current"]
        return found | {"reserved_bytes.all.current": live + kept}

    def set_limit(self, index: int, size: int | None) -> None:
        super().set_limit(index, size)
        if self._blocks is not None:
            self._blocks.keep_at_most(size)

    def release(self, index: int) -> None:
        if self._blocks is not None:
            self._blocks.release()

    def _within(self, function: Any, *args: Any) -> Array:
        """What a function makes where NumPy's allocator is that of kernels."""
        if self._blocks is None:
            made: Array = function(*args)
            return made
        return self._apart(function, *args)

    def _begin(self) -> None:
        """Let large arrays have memory that is kept, from the first one on."""
        if not self._wants_blocks:
            return
        with self._begins:
            if not self._wants_blocks:
                return
            self._wants_blocks = False
            # With LLVM: nothing that a small program needs.
            from dovetail.codegen.runtime.blocks import Blocks, limit

            if not limit():
                return
            try:
                blocks = Blocks()
            except (
                NotSupported,
                OSError,
                ImportError,
                AttributeError,
                ValueError,
            ) as e:
                log(f"memory is not kept: {e}")
                return
            self.context.run(blocks.use)
            self._blocks = blocks
            self.renew_runners()
