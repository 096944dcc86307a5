"""Tensors as arrays of a file: what shares memory is written once."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dovetail.device_api import HostMemory
from dovetail.dtypes import Array, DType
from dovetail.engine.scopes import anywhere, tell
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.tensor_api.memory import Layout

Path = tuple[Any, ...]
Json = dict[str, Any]

_RESERVED: Final = "__metadata__"  # safetensors' own


@dataclass(slots=True)
class _Kept:
    """One tensor that goes into the file."""

    tensor: Tensor
    path: Path
    layout: Layout

    def span(self) -> tuple[int, int]:
        """The bytes of its memory that it lies in."""
        low, high = self.layout.span()
        size = self.tensor.dtype.itemsize
        return low * size, high * size


class Packer:
    """Gathers the tensors of an object, each once, then what has to be written."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.kept: list[_Kept] = []
        self.numbers: dict[int, int] = {}
        self.arrays: dict[str, Array] = {}

    def add_array(self, values: Array, path: Path) -> str:
        """The name under which the file has the values of a NumPy array."""
        name = _free(_joined(path), self.arrays)
        self.arrays[name] = _real(np.ascontiguousarray(values))
        return name

    def add(self, x: Tensor, path: Path) -> int:
        """The number of a tensor, the same each time it comes."""
        if id(x) in self.numbers and self.op != "save_file":
            return self.numbers[id(x)]
        layout = Layout.of(x._kind, x._a, storage_of(x).root)
        self.kept.append(_Kept(x, path, layout))
        self.numbers[id(x)] = len(self.kept) - 1
        return len(self.kept) - 1

    def sharing(self) -> list[list[str]]:
        """The names of those that overlap in memory, if any."""
        found = [c for c in self._clusters() if len(c) > 1]
        return [[_joined(self.kept[i].path) for i in cluster] for cluster in found]

    def _clusters(self) -> list[list[int]]:
        """The tensors by memory, those apart that have no element in between."""
        by_memory: dict[int, list[int]] = defaultdict(list)
        for i, kept in enumerate(self.kept):
            by_memory[id(storage_of(kept.tensor).root)].append(i)
        clusters: list[list[int]] = []
        for members in by_memory.values():
            end = None
            for i in sorted(members, key=lambda i: self.kept[i].span()):
                low, high = self.kept[i].span()
                if end is None or low >= end or low == high:
                    clusters.append([])
                    end = high
                clusters[-1].append(i)
                end = max(end, high)
        return sorted(map(sorted, clusters))

    def finish(self) -> tuple[dict[str, Array], Json]:
        """Arrays by name, and the tables that say which tensor is where in them."""
        arrays = dict(self.arrays)
        memories: list[Json] = []
        records: list[Json] = [{} for _ in self.kept]
        for number, cluster in enumerate(self._clusters()):
            layouts, memory = self._pack(cluster, arrays)
            memories.append(memory)
            for i, layout in zip(cluster, layouts, strict=True):
                records[i] = _record(self.kept[i].tensor, number, layout, memory)
        return arrays, {"memories": memories, "tensors": records}

    def _pack(
        self, cluster: list[int], arrays: dict[str, Array]
    ) -> tuple[list[Layout], Json]:
        """One memory: where its tensors are in it, and its entry in the table.

        Where they look at it in several dtypes, it has that of the largest elements.
        """
        kept = [self.kept[i] for i in cluster]
        dtype = max((k.tensor.dtype for k in kept), key=lambda d: d.itemsize)
        spans = [k.span() for k in kept]
        low = min(s[0] for s in spans) // dtype.itemsize * dtype.itemsize
        size = -(-(max(s[1] for s in spans) - low) // dtype.itemsize)
        layouts = [_moved(k.layout, low // k.tensor.dtype.itemsize) for k in kept]
        own = math.prod(layouts[0].shape)
        if len(kept) == 1 and size > own:  # leave out what is in between
            layouts, size = [Layout.rows(layouts[0].shape)], own
        x, values = kept[0].tensor, None
        path = kept[0].path
        if not x.is_meta:
            path, values = _values(kept, layouts, dtype, size)
        memory: Json = {"dtype": dtype.name, "device": str(x.device), "size": size}
        if values is not None:
            name = memory["name"] = _free(_joined(path), arrays)
            arrays[name] = _real(values)
        return layouts, memory


def _values(
    kept: list[_Kept], layouts: list[Layout], dtype: DType, size: int
) -> tuple[Path, Array]:
    """The elements that the tensors of one memory see, zeros in between.

    They have the shape and the path of the tensor that sees all, if there is one.
    """
    each = list(zip(kept, layouts, strict=True))
    for one, layout in each:
        fits = one.tensor.dtype is dtype and math.prod(layout.shape) == size
        if fits and layout.contiguous:
            return one.path, host_values(one.tensor)
    flat = np.zeros(size, dtype.numpy)
    for one, layout in each:
        layout.within(flat.view(one.tensor.dtype.numpy))[...] = host_values(one.tensor)
    return kept[0].path, flat


def _moved(layout: Layout, low: int) -> Layout:
    offset = layout.offset - low if all(layout.shape) else 0
    return Layout(layout.shape, layout.strides, offset)


def _record(x: Tensor, number: int, layout: Layout, memory: Json) -> Json:
    """What the table says of one tensor; the usual is left out."""
    made: Json = {"memory": number, "shape": list(layout.shape)}
    if x.dtype.name != memory["dtype"]:
        made["dtype"] = x.dtype.name
    if layout != Layout.rows(layout.shape):
        made |= {"strides": list(layout.strides), "offset": layout.offset}
    if x.requires_grad:
        made["requires_grad"] = True
    if isinstance(x, Parameter):
        made["parameter"] = True
    return made


def host_values(x: Tensor) -> Array:
    """The values of a tensor in row-major order, without a copy where possible."""
    if anywhere[0]:
        tell("read", x, "save")
    backend = x._kind.backend
    memory = backend.capability(HostMemory)
    if memory is None:
        return backend.copy_out(x._a)
    values: Array = np.asarray(memory.expose(x._a), order="C")
    return values


def _real(values: Array) -> Array:
    """Complex numbers as pairs in a last dim: the format has none."""
    if values.dtype.kind != "c":
        return values
    part = values.real.dtype
    return np.ascontiguousarray(values)[..., None].view(part).reshape(*values.shape, 2)


def _joined(path: Path) -> str:
    """A name in the file, where no lone surrogate may be."""
    text = ".".join(map(str, path)) or "tensor"
    return text.encode("utf-8", "replace").decode("utf-8")


def _free(name: str, taken: Mapping[str, Any]) -> str:
    found, number = name, 1
    while found in taken or found == _RESERVED:
        number += 1
        found = f"{name}#{number}"
    return found
