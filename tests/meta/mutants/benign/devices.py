"""Benign variants whose memory, dtypes or streams are others."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from tests.meta.mutants.benign.variant import FLOATS, Benign, otherwise
from tests.meta.mutants.catalogue.capabilities import Chaotic
from tests.meta.mutants.catalogue.devices import Pair
from tests.meta.mutants.mutant import Run, after, through
from tests.meta.mutants.operators import results

from dovetail import dtypes
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
Ints = tuple[int, ...]


def _narrow(y: Any, *natives: Any, **attrs: Any) -> Any:
    return results(y, lambda a: a.astype(np.int32) if a.dtype == np.int64 else a)


class _NarrowIndices(CpuBackend):
    """Indices and counts are int32."""

    dtypes = CpuBackend.dtypes - {dtypes.int64, dtypes.uint64}

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        narrow = after(_narrow)
        for name in table.names():
            table._kernels[name] = [
                k._replace(function=through(narrow, k.function, k.binds))
                for k in table._kernels[name]
            ]


class _NoLongs(_NarrowIndices):
    """Nothing has 64 bits."""

    dtypes = _NarrowIndices.dtypes - {dtypes.float64, dtypes.complex128}


class _LevelZero(_NarrowIndices):
    """What every device has, and no more."""

    dtypes = frozenset({dtypes.bool_, dtypes.int32, dtypes.float32})


class _NoDoubles(CpuBackend):
    dtypes = CpuBackend.dtypes - {dtypes.float64, dtypes.complex128}


class _NoStrides(CpuBackend):
    """All kernels get contiguous inputs alone."""

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        for name in table.names():
            table._kernels[name] = [
                k._replace(contiguous=True) for k in table._kernels[name]
            ]


class _Poisoned(CpuBackend):
    """Fresh memory is full of ones."""

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        made = super().empty(shape, dtype, index)
        made.reshape(-1).view(np.uint8)[...] = 1
        return made


class _Lease:
    """A block that goes back to the pool with the last array that looks into it."""

    def __init__(self, pool: _Reuses, block: Array) -> None:
        self.pool, self.block = pool, block
        self.__array_interface__ = block.__array_interface__

    def __del__(self) -> None:
        self.pool.free.setdefault(self.block.nbytes, []).append(self.block)


class _Reuses(CpuBackend):
    """What was freed last is handed out first, as it is."""

    def __init__(self) -> None:
        self.free: dict[int, list[Array]] = {}
        super().__init__()

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        size = math.prod(shape) * dtype.itemsize
        rounded = 1 << max(size - 1, 63).bit_length()
        free = self.free.get(rounded)
        block = free.pop() if free else np.empty(rounded, np.uint8)
        raw: Array = np.asarray(_Lease(self, block))[:size]
        return raw.view(dtype.numpy).reshape(shape)

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        for name in _POOLED.split():
            table._kernels[name] = [
                k._replace(
                    function=through(self._from_the_pool, k.function, k.binds),
                    supports_out=False,
                )
                for k in table._kernels[name]
            ]

    def _from_the_pool(self, run: Run, natives: list[Any], attrs: Attrs) -> Any:
        return results(run(*natives, **attrs), self._moved)

    def _moved(self, y: Array) -> Array:
        made = self.empty(y.shape, dtypes.from_numpy(y.dtype), 0)
        made[...] = y
        return made


class _Slab(CpuBackend):
    """Memory is cut from large blocks, one piece behind the other."""

    def __init__(self) -> None:
        self.slab, self.used = np.empty(0, np.uint8), 0
        super().__init__()

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        size = math.prod(shape) * dtype.itemsize
        first = -(-self.used // 16) * 16
        if first + size > self.slab.nbytes:
            self.slab, first = np.empty(max(size, 1 << 16), np.uint8), 0
        self.used = first + size
        raw = self.slab[first : self.used]
        return raw.view(dtype.numpy).reshape(shape)


class _OddBoundaries(CpuBackend):
    launch_boundaries = (33, 1000)


class _CompilesPerShape(CpuBackend):
    compiles_per_shape = True


def _by_columns(y: Any, *natives: Any, **attrs: Any) -> Any:
    """Results lie column by column."""
    return results(y, lambda a: np.array(a, order="F"))


def _padded(y: Any, *natives: Any, **attrs: Any) -> Any:
    """Rows of results begin at multiples of eight elements."""

    def wider(a: Array) -> Array:
        if not a.ndim or not a.size:
            return a
        n = a.shape[-1]
        made = np.full((*a.shape[:-1], -(-n // 8) * 8 + 8), 1, a.dtype)[..., :n]
        made[...] = a
        return made

    return results(y, wider)


_FINDS: Final = "argmax argmin sort topk argsort nonzero count_nonzero"
_MADE: Final = "add matmul softmax sort cumsum"
_POOLED: Final = "add mul matmul exp sum softmax where cat cumsum gather"

DEVICES: Final[list[Benign]] = [
    Benign("delayed-streams", "work is done late, in another order", Chaotic,
           "add matmul softmax index_put", ("streams", "threads", "errors")),
    Benign("narrow-indices", "no 64-bit integers, indices are int32",
           _NoLongs, f"{_FINDS} gather index_select"),
    Benign("narrow-beside-doubles", "no 64-bit integers, but float64", _NarrowIndices,
           f"{_FINDS} gather index_select unique searchsorted median",
           dtypes=(*FLOATS, "int32", "bool")),
    Benign("level-zero", "bool, int32 and float32 alone", _LevelZero,
           f"{_FINDS} {_MADE} var where cat embedding", ("transfer", "copy", "fill")),
    Benign("no-doubles", "neither float64 nor complex128", _NoDoubles,
           "add matmul softmax var sort", ("transfer", "devices", "random")),
    Benign("no-strides", "all kernels get contiguous inputs alone", _NoStrides,
           f"{_MADE} flip gather where convolution index_put sum", ("machine",),
           dtypes=(*FLOATS, "int32", "bool")),
    Benign("by-columns", "results are not row-major",
           otherwise(_MADE, after(_by_columns)), _MADE, ("machine",)),
    Benign("padded-rows", "rows of results have room behind them",
           otherwise(_MADE, after(_padded)), f"{_MADE} mul sum", ("machine",)),
    Benign("poisoned-memory", "fresh memory holds anything", _Poisoned,
           "empty zeros_like add index_put cat", ("empty", "copy", "machine")),
    Benign("reused-memory", "what was freed last is handed out first", _Reuses,
           _POOLED, ("empty", "copy", "machine", "memory", "threads", "dlpack"),
           dtypes=(*FLOATS, "int32", "bool")),
    Benign("one-slab", "memory is cut from large blocks", _Slab, "add cat index_put",
           ("empty", "copy", "machine", "dlpack", "fill"),
           dtypes=(*FLOATS, "int32", "bool")),
    Benign("odd-boundaries", "launches change at 33 and 1000", _OddBoundaries,
           "add sum sort", ("copy", "fill")),
    Benign("compiles-per-shape", "a shape is slow when first seen", _CompilesPerShape,
           "add sum sort matmul softmax", dtypes=FLOATS),
    Benign("two-devices", "a second device of the type", Pair, "add",
           ("devices", "transfer", "generator", "threads")),
]  # fmt: skip
