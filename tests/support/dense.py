"""`dense`: level-0 kernels on NumPy arrays that have no strides to speak of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import dovetail as dt
from dovetail.device_api import Backend, DenseBackend, DeviceInfo, KernelTable, registry
from dovetail.dtypes import DType, bool_, by_name, from_numpy
from dovetail.engine import host
from dovetail.engine.op import vocabulary
from dovetail.engine.tensor import Tensor
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]


class Solid:
    """A dense array: a hidden NumPy array, contiguous and its own memory's owner."""

    __slots__ = ("_hidden",)

    def __init__(self, hidden: Array) -> None:
        assert hidden.flags.c_contiguous, "not contiguous"
        self._hidden = hidden

    @property
    def shape(self) -> Ints:
        shape: Ints = self._hidden.shape
        return shape


class Plain(DenseBackend):
    """Two devices of arrays without strides; reshaping shares memory."""

    type = "dense"
    dense = Solid
    automatic = False
    dtypes = frozenset(
        {bool_, *map(by_name, ("uint8", "int32", "int64", "float32", "complex64"))}
    )
    reshapes_by_copy = False

    def __init__(self) -> None:
        super().__init__()
        self.context.run(np.seterr, all="ignore")

    def devices(self) -> Sequence[DeviceInfo]:
        return [DeviceInfo(0, "Dense 0"), DeviceInfo(1, "Dense 1")]

    def synchronize(self, index: int) -> None:
        """Nothing: NumPy has finished when it returns."""

    def dense_in(self, host: Array, index: int) -> Solid:
        return Solid(np.array(host, order="C"))

    def dense_out(self, a: Solid) -> Array:
        return a._hidden.copy()

    def dense_reshape(self, a: Solid, shape: Ints) -> Solid:
        hidden = a._hidden.copy() if self.reshapes_by_copy else a._hidden
        return Solid(hidden.reshape(shape))

    def dense_full(self, shape: Ints, value: complex, dtype: DType, index: int) -> Any:
        return Solid(np.full(shape, value, dtype.numpy))

    def dense_dtype(self, a: Solid) -> DType:
        return from_numpy(a._hidden.dtype)

    def kernels(self, table: KernelTable) -> None:
        """NumPy's kernels of the primitives, as on `reference`."""
        full = KernelTable(self.type)
        CpuBackend().kernels(full)
        for op in vocabulary.values():
            for kernel in full._kernels.get(op.name, ()):
                dtypes = kernel.dtypes & op.primitive & self.dtypes
                if op.view or not dtypes:
                    continue
                names = ("binds", "broadcasts", "checks", "when", "reads")
                options = {n: getattr(kernel, n) for n in names}
                function = self.bound if kernel.binds else self.on_solid
                table.add(op.name, function(kernel.function), dtypes=dtypes, **options)

    def bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda **attrs: self.on_solid(function(**attrs))

    def on_solid(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel on NumPy arrays as one on dense ones."""

        def run(*arrays: Any, **attrs: Any) -> Any:
            result = function(*map(_opened, arrays), **attrs)
            if isinstance(result, tuple):
                return tuple(map(_closed, result))
            if result is not None:
                return _closed(result)
            written, *others = [_opened(a) for a in arrays if isinstance(a, Solid)]
            assert not any(np.shares_memory(written, a) for a in others), (
                "read, written"
            )
            return None

        return run


class Copying(Plain):
    """The same where reshaping copies."""

    type = "dense_copying"
    reshapes_by_copy = True


class Immutable(Copying):
    """The same where arrays never change: writing kernels return new ones."""

    type = "dense_immutable"

    def on_solid(self, function: Callable[..., Any]) -> Callable[..., Any]:
        inner = super().on_solid(function)

        def run(*arrays: Any, **attrs: Any) -> Any:
            fresh = [_copied(a) for a in arrays]
            result = inner(*fresh, **attrs)
            return fresh[0] if result is None else result

        return run


VARIANTS = (Plain, Copying, Immutable)


def grid(device: str, *shape: int) -> Tensor:
    """0, 1, 2 … in float32, in memory of its own."""
    flat = dt.arange(math.prod(shape), dtype=dt.float32, device=device)
    made: Tensor = flat.reshape(shape)
    return made


def _opened(a: Any) -> Any:
    if isinstance(a, list):
        return [_opened(v) for v in a]
    return None if a is None else a._hidden


def _closed(result: Any) -> Solid:
    return Solid(np.array(result, order="C"))


def _copied(a: Any) -> Any:
    if isinstance(a, list):
        return [_copied(v) for v in a]
    return None if a is None else Solid(a._hidden.copy())


@contextmanager
def registered(*backends: Backend) -> Iterator[None]:
    """Backends known to this process for a while, with nothing run on the host."""
    before = host.get_fallback_policy()
    for backend in backends:
        registry.register(backend)
    host.set_fallback_policy("error")
    try:
        yield
    finally:
        host.set_fallback_policy(before)
        for backend in backends:
            registry.unregister(backend.type)
