"""The arrays of a file as tensors: each memory made once, every layout checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dovetail import dtypes
from dovetail.dtypes import Array, DType
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.tensor_api.memory import Ground, Layout, ground

if TYPE_CHECKING:
    from dovetail.io.files import Opened

Json = dict[str, Any]
_MOST: Final = 1 << 58  # elements


@dataclass(frozen=True, slots=True)
class _Memory:
    """One memory of a file, as its table describes it."""

    name: str | None
    dtype: DType
    size: int
    device: str


@dataclass(frozen=True, slots=True)
class _Place:
    """One tensor of a file, as its table describes it."""

    memory: int
    dtype: DType
    layout: Layout
    requires_grad: bool
    parameter: bool


class Unpacker:
    """The tensors of a file by number, each memory made once.

    Raises:
        KeyError, TypeError, IndexError or ValueError: the tables are damaged.
    """

    def __init__(self, opened: Opened, structure: Json) -> None:
        self.opened = opened
        self.memories = [self._memory(m) for m in structure["memories"]]
        self.places = [self._place(record) for record in structure["tensors"]]

    def _memory(self, entry: Json) -> _Memory:
        name, where = entry.get("name"), entry["device"]
        dtype, (size,) = dtypes.by_name(entry["dtype"]), _sizes([entry["size"]])
        if name is None and where.partition(":")[0] != "meta":
            raise ValueError(f"no values for {where}")
        if name is not None:
            written, shape = self.opened.described(name)
            pairs = dtype.is_complex and written is dtype.real
            count = math.prod(shape) // 2 if pairs else math.prod(shape)
            if count != size or not (pairs or written is dtype):
                raise ValueError(f"{name!r}: {count} of {written.name}, not {entry}")
        return _Memory(name, dtype, size, where)

    def _place(self, record: Json) -> _Place:
        number, shape = record["memory"], _sizes(record["shape"])
        layout = Layout.rows(shape)
        if "strides" in record:
            (offset,) = _sizes([record["offset"]])
            layout = Layout(shape, _ints(record["strides"]), offset)
        memory = self.memories[number]
        dtype = dtypes.by_name(record.get("dtype", memory.dtype.name))
        low, high = layout.span()
        there = memory.size * memory.dtype.itemsize // dtype.itemsize
        backwards = any(step < 0 for step in layout.strides)
        if len(layout.strides) != len(shape) or low < 0 or high > there or backwards:
            raise ValueError(f"a tensor at {low} to {high} of {there} elements")
        wants = record.get("requires_grad") is True and dtype.is_inexact
        return _Place(number, dtype, layout, wants, record.get("parameter") is True)

    def array(self, name: str, dtype: DType, shape: Sequence[int]) -> Array:
        """A NumPy array of the file; raises as `__init__` does."""
        values = self.opened.values(name)
        if dtype.is_complex:
            values = values.reshape(-1).view(dtype.numpy)
        if values.dtype != dtype.numpy:
            raise ValueError(f"{name!r}: {values.dtype}, not {dtype.name}")
        return values.reshape(_sizes(shape))

    def tensors(self) -> list[Tensor]:
        """All of them, where `map_location` wants them."""
        grounds: dict[int, Ground] = {}
        made = []
        for place in self.places:
            memory = self.memories[place.memory]
            if place.memory not in grounds:
                grounds[place.memory] = self._ground(memory)
            x = grounds[place.memory].tensor(place.dtype, place.layout)
            if place.parameter:
                x = Parameter(x, requires_grad=place.requires_grad)
            x.requires_grad = place.requires_grad
            made.append(x)
        return made

    def _ground(self, memory: _Memory) -> Ground:
        if memory.name is None:
            return ground(memory.size, memory.dtype, 0, memory.device)
        values = self.opened.values(memory.name).reshape(-1)
        if memory.dtype.is_complex:
            values = values.view(memory.dtype.numpy)
        return ground(values, memory.dtype, 0, memory.device)


def _sizes(values: Iterable[Any]) -> tuple[int, ...]:
    """Sizes and offsets, which no memory can exceed."""
    found = _ints(values)
    if any(n < 0 for n in found) or math.prod(max(n, 1) for n in found) > _MOST:
        raise ValueError(f"{found} are no sizes")
    return found


def _ints(values: Iterable[Any]) -> tuple[int, ...]:
    found = tuple(values)
    if any(type(n) is not int or abs(n) > _MOST for n in found):
        raise ValueError(f"{found} are no sizes")
    return found
