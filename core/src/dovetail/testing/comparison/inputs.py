"""The inputs of an op call, taken along to another device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail.device_api import registry
from dovetail.device_api.contract import Backend
from dovetail.dtypes import Array, DType
from dovetail.engine import modes, scopes
from dovetail.engine.kinds import Kind, kind_on
from dovetail.engine.op import Op
from dovetail.engine.plans import is_contiguous, plan_for
from dovetail.engine.promotion import lead_of, prepare
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import DTypeError

# What stands in for a dtype that a device lacks, the first that it has.
_INSTEAD: Final = {
    "float64": ("float32",), "complex128": ("complex64",),
    "float16": ("float32",), "bfloat16": ("float32",),
    "int64": ("int32",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Where:
    """One device: its backend and index."""

    backend: Backend
    index: int

    @classmethod
    def named(cls, device: str) -> Where:
        """The device of that name; raises where there is none."""
        return cls(*registry.resolve(device))

    def holds(self, kind: Kind) -> bool:
        """Whether a kind is one of this device."""
        return kind.backend is self.backend and kind.index == self.index

    def kind(self, dtype: DType) -> Kind:
        """The kind of a dtype, or of what stands in for it.

        Raises:
            DTypeError: the device has nothing for the dtype.
        """
        names = (dtype.name, *_INSTEAD.get(dtype.name, ()))
        for known in map(dtypes.by_name, names):
            if known in self.backend.dtypes:
                return kind_on(self.backend, self.index, known)
        return kind_on(self.backend, self.index, dtype)

    def put(self, host: Array, dtype: DType) -> Tensor:
        """A fresh tensor with the values of a host array.

        Raises:
            DTypeError: values do not fit the dtype that the device has instead.
        """
        kind = self.kind(dtype)
        made = host.astype(kind.dtype.numpy)
        # A float input may round; an integer may not change.
        whole = kind.dtype is not dtype and not dtype.is_inexact
        if whole and not np.array_equal(made.astype(host.dtype), host):
            raise DTypeError(
                "lockstep", "values", was=f"beyond {kind.dtype.name}",
                needed=f"{dtype.name}, which {kind.device} lacks",
            )  # fmt: skip
        return wrap(self.backend.copy_in(made, self.index), kind)


@dataclass(frozen=True, slots=True)
class Value:
    """One tensor input as it was before the call.

    Attributes:
        host: its values.
        dtype: its dtype on the device.
        strides: its layout there, None where it is contiguous.
        root: for ops that depend on strides, the memory it looks into.
        geometry: strides and offset in that memory.
        source: the tensor itself.
    """

    host: Array
    dtype: DType
    strides: tuple[int, ...] | None
    root: Array | None
    geometry: tuple[tuple[int, ...], int]
    source: Tensor

    def __str__(self) -> str:
        layout = f" strides {self.strides}" if self.strides else ""
        return f"{self.dtype.name}{list(self.host.shape)}{layout}"


class Inputs:
    """The inputs and attributes of one call, with a copy of every value.

    Attributes:
        op: what was called.
        values: the tensors among the inputs, lists flattened.
    """

    def __init__(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], where: Where
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.values: list[Value] = []
        self._slots = [self._taken(x) for x in inputs]
        self._where = where

    def _taken(self, x: Any) -> Any:
        """`x` with tensors replaced by their numbers among the values."""
        if isinstance(x, list | tuple):
            return [self._taken(v) for v in x]
        if not isinstance(x, Tensor):
            return _Plain(x)
        for number, value in enumerate(self.values):
            if value.source is x:
                return number
        self.values.append(_value(x, self.op.layout_matters))
        return len(self.values) - 1

    def parameter(self, number: int) -> str:
        """The name of the parameter that a value was given for."""
        for param, slot in zip(self.op.tensors, self._slots, strict=False):
            if isinstance(slot, list) and number in slot:
                return f"{param.name}[{slot.index(number)}]"
            if slot == number:
                return param.name
        return "an input"

    def described(self) -> tuple[str, ...]:
        """Name, dtype, shape and layout of each value."""
        return tuple(f"{self.parameter(n)} {v}" for n, v in enumerate(self.values))

    def on(self, where: Where, hosts: Sequence[Array] | None = None) -> Call:
        """The same call with fresh tensors on another device.

        Args:
            where: the device.
            hosts: other values than those taken, one for each; their dtypes count.
        """
        made: list[Tensor] = []
        for number, value in enumerate(self.values):
            if hosts is not None:
                host = hosts[number]
                made.append(where.put(host, dtypes.from_numpy(host.dtype)))
            else:
                made.append(_copy(value, where))
        wide = None if hosts is None else [dtypes.from_numpy(h.dtype) for h in hosts]
        attrs = {
            name: self._attribute(v, where, wide) for name, v in self.attrs.items()
        }
        return Call(self.op, tuple(_filled(s, made) for s in self._slots), attrs, made)

    def _attribute(self, value: Any, where: Where, wide: list[DType] | None) -> Any:
        """An attribute as the other device takes it."""
        if isinstance(value, Kind) and self._where.holds(value):
            return where.kind(value.dtype)
        if isinstance(value, DType):
            if wide and value.is_inexact:
                value = max(wide, key=lambda d: (d.category, d.itemsize))
            return where.kind(value).dtype
        return value

    def stands_in(self, where: Where) -> bool:
        """Whether another device rounds the values, for want of their dtype."""
        inexact = [v.dtype for v in self.values if v.dtype.is_inexact]
        return any(where.kind(d).dtype is not d for d in inexact)

    def written(self) -> list[int]:
        """Numbers of the values that the op writes."""
        found: list[int] = []
        for param, slot in zip(self.op.tensors, self._slots, strict=False):
            if param.name in self.op.mutates:
                numbers = slot if isinstance(slot, list) else [slot]
                found += [n for n in numbers if isinstance(n, int)]
        return found

    def mapped(self, tensor: Callable[[int], str], plain: Callable[[Any], str]) -> str:
        """The inputs as source text."""

        def text(slot: Any) -> str:
            if isinstance(slot, list):
                return f"[{', '.join(map(text, slot))}]"
            return tensor(slot) if isinstance(slot, int) else plain(slot.value)

        return ", ".join(map(text, self._slots))


@dataclass(frozen=True, slots=True)
class _Plain:
    """An input that is no tensor."""

    value: Any


@dataclass(frozen=True, slots=True)
class Call:
    """An op call ready to run, and the tensors made for it."""

    op: Op
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    tensors: list[Tensor]

    def run(self) -> Any:
        """Make the call, seen by nobody and recorded nowhere."""
        with scopes.without_interposers(), modes.no_grad():
            return self.op.call_with(self.inputs, self.attrs)


def _filled(slot: Any, made: list[Tensor]) -> Any:
    if isinstance(slot, list):
        return [_filled(s, made) for s in slot]
    return made[slot] if isinstance(slot, int) else slot.value


def host_of(x: Tensor) -> Array:
    """The values of a tensor; waits for them."""
    return np.asarray(x._kind.backend.copy_out(x._a))


def results_of(made: Any) -> list[Tensor]:
    """The tensors among the results of a call."""
    found = made if isinstance(made, tuple | list) else [made]
    return [y for y in found if isinstance(y, Tensor)]


Composed = tuple[Op, tuple[Any, ...], dict[str, Any], Kind]


def composed(call: Call, always: bool = False) -> Composed | None:
    """The call as its body takes it; None where there is no body for it.

    Without `always` also where the device has a kernel, so that no body runs.
    """
    op = call.op
    ready = prepare(op, call.inputs)
    lead = lead_of(op, ready)
    ndim = 0 if lead is None else len(lead._a.shape)
    attrs = op.normalise([*call.inputs, *call.attrs.values()], ndim)
    kind = attrs["kind"] if lead is None else lead._kind
    if kind.dtype in op.primitive:
        return None
    if not always and plan_for(op, ready, attrs, kind).native is not None:
        return None
    return op, ready, attrs, kind


def _value(x: Tensor, by_strides: bool) -> Value:
    kind, native = x._kind, x._a
    contiguous = is_contiguous(kind, native)
    strides = None if contiguous else tuple(kind.backend.geometry(native, native)[0])
    root: Array | None = None
    geometry: tuple[tuple[int, ...], int] = ((), 0)
    if by_strides and x._storage is not None:
        memory = x._storage.root
        if is_contiguous(kind, memory):
            root = np.asarray(kind.backend.copy_out(memory))
            geometry = kind.backend.geometry(native, memory)
    return Value(host_of(x), kind.dtype, strides, root, geometry, x)


def _copy(value: Value, where: Where) -> Tensor:
    """A copy of a value on a device, with its strides where they count."""
    if value.root is None:
        return where.put(value.host, value.dtype)
    whole = where.put(value.root, value.dtype)
    native = where.backend.view(whole._a, value.host.shape, *value.geometry)
    made = wrap(native, whole._kind)
    made._storage = storage_of(whole)
    return made
