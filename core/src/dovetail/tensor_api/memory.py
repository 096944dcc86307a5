"""The memory that tensors share, and how each of them looks into it.

Copies and files keep what PyTorch keeps: two views of one memory stay so.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail import dtypes
from dovetail.device_api import HostMemory, registry
from dovetail.device_api.capabilities import arrays_in_use
from dovetail.device_api.contract import Backend, Ints, Native
from dovetail.device_api.meta import contiguous_strides
from dovetail.device_api.numpy_arrays import strided
from dovetail.dtypes import Array, DType
from dovetail.engine.kinds import Kind, kind_on, kinds_of
from dovetail.engine.placement import place
from dovetail.engine.scopes import anywhere, outside, tell
from dovetail.engine.storage import storage_over
from dovetail.engine.tape import Node, storage_of
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import DTypeError


class Layout(NamedTuple):
    """Where the elements of a tensor are, counted in elements of its dtype."""

    shape: Ints
    strides: Ints
    offset: int

    @classmethod
    def of(cls, kind: Kind, native: Native, root: Native) -> Layout:
        """The layout of a native array, counted from the first element of `root`."""
        strides, offset = kind.backend.geometry(native, root)
        shape = tuple(map(int, native.shape))
        return cls(shape, tuple(map(int, strides)), int(offset) if all(shape) else 0)

    @classmethod
    def rows(cls, shape: Ints) -> Layout:
        """That of an array in row-major order."""
        return cls(shape, contiguous_strides(shape), 0)

    def span(self) -> tuple[int, int]:
        """The first place that is used, and the one after the last."""
        if not all(self.shape):
            return self.offset, self.offset
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        low = self.offset + sum(r for r in reach if r < 0)
        return low, 1 + self.offset + sum(r for r in reach if r > 0)

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in row-major order; strides of size 1 are free."""
        rows = contiguous_strides(self.shape)
        each = zip(self.shape, self.strides, rows, strict=True)
        return not all(self.shape) or all(n == 1 or s == r for n, s, r in each)

    def within(self, flat: Array) -> Array:
        """The elements in a flat array whose first is place 0 of this layout."""
        steps = tuple(s * flat.itemsize for s in self.strides)
        start = flat[self.offset :] if all(self.shape) else flat[:0]
        return strided(start, self.shape, steps)


class Memory:
    """All of the memory behind a tensor; the same object for all that share it."""

    __slots__ = ("__weakref__", "dtype", "kind", "root")

    def __init__(self, kind: Kind, root: Native) -> None:
        self.kind = kind
        self.root = root
        memory = kind.backend.capability(HostMemory)
        # Only tensors in the host's memory may look at one in several dtypes.
        seen = None if memory is None else memory.expose(root).dtype
        self.dtype: DType = kind.dtype if seen is None else dtypes.from_numpy(seen)

    @classmethod
    def behind(cls, x: Tensor) -> Memory:
        """The memory of a tensor, alive as long as somebody keeps this object."""
        if anywhere[0]:
            tell("read", x, "a copy of its memory")
        root, kind = storage_of(x).root, x._kind
        found = _known.get(id(root))
        if found is None or found.root is not root:
            found = _known[id(root)] = cls(kind, root)
        return found

    def layout(self) -> Layout:
        """The layout of the root itself, from whose first element all count."""
        return Layout.of(self.kind, self.root, self.root)

    def copied(self) -> Ground:
        """A copy on the same device; what no element of the root lies on is not."""
        layout, backend = self.layout(), self.kind.backend
        low, high = layout.span()
        flat = backend.empty((high - low,), self.dtype, self.kind.index)
        if high > low:
            each = zip(layout.shape, layout.strides, strict=True)
            once = tuple(n if s else 1 for n, s in each)
            source = backend.view(self.root, once, layout.strides, 0)
            backend.copy(backend.view(flat, once, layout.strides, -low), source)
        return Ground(backend, self.kind.index, self.dtype, flat, low)

    def __reduce__(self) -> tuple[Any, ...]:
        layout, where = self.layout(), str(self.kind.device)
        low, high = layout.span()
        values: Array | int = high - low
        if not self.kind.backend.rules_only:
            host = self.kind.backend.copy_out(self.root)
            if not layout.contiguous:
                host, out = np.zeros(high - low, host.dtype), host
                from_first = Layout(layout.shape, layout.strides, -low)
                from_first.within(host)[...] = out
            values = host.reshape(-1).view(np.uint8)
        return _loaded, (values, self.dtype, low, where)


_known: Final[weakref.WeakValueDictionary[int, Memory]] = weakref.WeakValueDictionary()


class Ground:
    """Flat memory on a device, made for the tensors that are to share it.

    Args:
        flat: a one-dimensional native array.
        low: the place that its first element has for layouts.
    """

    __slots__ = ("backend", "dtype", "flat", "index", "low", "storage")

    def __init__(
        self, backend: Backend, index: int, dtype: DType, flat: Native, low: int
    ) -> None:
        self.backend = backend
        self.index = index
        self.dtype = dtype
        self.flat = flat
        self.low = low
        self.storage = storage_over(flat)

    def tensor(self, dtype: DType, layout: Layout) -> Tensor:
        """A tensor that looks into this memory."""
        outside("a copy or a loaded tensor")
        kind = kind_on(self.backend, self.index, dtype)
        flat, low = self.flat, self.low
        if dtype is not self.dtype:
            memory = self.backend.capability(HostMemory)
            if memory is None:
                return self._apart(kind, layout)
            flat = memory.adopt(memory.expose(flat).view(dtype.numpy))
            low = low * self.dtype.itemsize // dtype.itemsize
        offset = layout.offset - low if all(layout.shape) else 0
        made = wrap(self.backend.view(flat, layout.shape, layout.strides, offset), kind)
        made._storage = self.storage
        return made

    def _apart(self, kind: Kind, layout: Layout) -> Tensor:
        """The same bits in memory of their own, where none has two dtypes."""
        host = self.backend.copy_out(self.flat).view(kind.dtype.numpy)
        low = self.low * self.dtype.itemsize // kind.dtype.itemsize
        offset = layout.offset - low if all(layout.shape) else 0
        values = Layout(layout.shape, layout.strides, offset).within(host)
        return wrap(self.backend.copy_in(values, self.index), kind)


def ground(values: Array | int, dtype: DType, low: int, where: str) -> Ground:
    """Memory with the elements of a flat array, where `map_location` wants it.

    Args:
        values: the elements, in an array that nobody else uses; or their number on a
            device without data.
        where: the device that they were saved on.

    Raises:
        DeviceError: that device is absent, and nothing maps it to another.
        DTypeError: the device does not have the dtype.
    """
    if isinstance(values, int):
        # As in PyTorch, `map_location` has no say in what has no data.
        backend, index = registry.resolve(where)
        flat = backend.empty((values,), dtype, index)
        return Ground(backend, index, dtype, flat, low)
    backend, index = place(where, values)
    if dtype not in backend.dtypes:
        names = ", ".join(sorted(d.name for d in backend.dtypes))
        raise DTypeError(
            "load", "dtype", was=f"{dtype.name}, for {backend.type}:{index}",
            needed=f"one of {names}",
            remedy='load it with map_location="cpu", cast it, and move it then',
        )  # fmt: skip
    memory = backend.capability(HostMemory)
    if memory is not None and values.flags.writeable and values.flags.aligned:
        return Ground(backend, index, dtype, memory.adopt(values), low)
    return Ground(backend, index, dtype, backend.copy_in(values, index), low)


def _loaded(values: Array | int, dtype: DType, low: int, where: str) -> Ground:
    """What a pickled `Memory` becomes."""
    if isinstance(values, int):
        return ground(values, dtype, low, where)
    return ground(values.view(dtype.numpy), dtype, low, where)


def _in_use(backend: Backend) -> Iterator[Native]:
    """The native arrays that tensors, graphs and numbers of a backend have now."""
    for kind in kinds_of(backend):
        for cache in kind.scalars.values():
            yield from list(cache.values())
            if cache.zero is not None:
                yield cache.zero
    for found in gc.get_objects():
        if issubclass(type(found), Tensor):
            if hasattr(found, "_a") and found._kind.backend is backend:
                yield found._a
        elif type(found) is Node:
            for entry in found.saved or ():
                if type(entry) is tuple and entry[1].backend is backend:
                    yield entry[0]


arrays_in_use.append(_in_use)
