"""Values of a program that runs: told apart by their native arrays, not by tensors.

Backward makes new tensors over what nodes kept, `detach` and `.data` over what is
there; all of them name the same array. A name goes when its array does, so that none
that takes its place is confused with it, and recording keeps no memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from functools import partial
from typing import Any, Generic, TypeVar

from dovetail.device_api.meta import contiguous_strides
from dovetail.engine.graph import Call, Number, Placed, Slot, Spec, is_slot
from dovetail.engine.kinds import Kind
from dovetail.engine.op import Op, vocabulary
from dovetail.engine.tensor import Tensor

V = TypeVar("V")


class ByIdentity(Generic[V]):
    """Values by the identity of objects, each as long as its object is there.

    Objects that allow no weak references are kept.
    """

    def __init__(self) -> None:
        self._values: dict[int, V] = {}
        self._held: dict[int, Any] = {}

    def __setitem__(self, thing: Any, value: V) -> None:
        key = id(thing)
        if key not in self._held:
            try:
                self._held[key] = weakref.ref(thing, partial(self._drop, key))
            except TypeError:
                self._held[key] = thing
        self._values[key] = value

    def _drop(self, key: int, _: Any) -> None:
        self._values.pop(key, None)
        self._held.pop(key, None)

    def get(self, thing: Any) -> V | None:
        """The value of an object, None if it has none."""
        return self._values.get(id(thing))


class Names:
    """Slots of native arrays."""

    def __init__(self) -> None:
        self._slots: ByIdentity[Slot] = ByIdentity()
        self._numbers: ByIdentity[Number] = ByIdentity()
        self._count = 0

    def __contains__(self, x: Tensor) -> bool:
        return self._slots.get(x._a) is not None

    def __getitem__(self, x: Tensor) -> Slot:
        found = self._slots.get(x._a)
        assert found is not None
        return found

    def new(self, x: Tensor) -> Slot:
        """The next slot, for the array of `x`."""
        return self.bind(x, self.fresh(spec_of(x)))

    def fresh(self, spec: Spec) -> Slot:
        """The next slot, of no array yet."""
        self._count += 1
        return Slot(self._count - 1, spec)

    def bind(self, x: Tensor, slot: Slot) -> Slot:
        """Let the array of `x` go by a slot."""
        self._slots[x._a] = slot
        return slot

    def note_number(self, native: Any, number: Number) -> None:
        """Remember which Python number a 0-d array stands for."""
        self._numbers[native] = number

    def number(self, x: Tensor) -> Number | None:
        """The Python number that `x` was made of for a call, None if it was not."""
        known = self._numbers.get(x._a)
        if known is None and not len(x._a.shape):
            for cache in x._kind.scalars.values():
                for value, native in cache.items():
                    if native is x._a:
                        known = Number(value, x._kind.dtype)
                        self.note_number(native, known)
                        return known
        return known


def spec_of(x: Tensor) -> Spec:
    """Shape, dtype, and strides where they are not row-major."""
    native, kind = x._a, x._kind
    shape = tuple(native.shape)
    strides = tuple(kind.backend.geometry(native, native)[0])
    plain = strides == contiguous_strides(shape) or 0 in shape
    return Spec(shape, kind.dtype, None if plain else strides)


def plain_attrs(attrs: dict[str, Any]) -> dict[str, Any]:
    """Attributes as a graph keeps them: no device among them."""
    return {k: Placed(v.dtype) if type(v) is Kind else v for k, v in attrs.items()}


def targets(op: Op, inputs: Iterable[Any]) -> list[Any]:
    """The inputs that an op writes."""
    found: list[Any] = []
    for param, x in zip(op.tensors, inputs, strict=True):
        if param.name in op.mutates and x is not None:
            found += x if isinstance(x, list | tuple) else (x,)
    return found


def versioned(
    inputs: tuple[Any, ...], calls: Iterable[Call], results: Any
) -> tuple[tuple[Call, ...], Any]:
    """Calls and results with the version of each slot: how often it was written.

    A view has the memory, and so the version, of what it was taken of.
    """
    memory: dict[int, int] = {}
    version: dict[int, int] = {}

    def now(value: Any) -> Any:
        if is_slot(value):
            root = memory.setdefault(value.number, value.number)
            return Slot(value.number, value.spec, version.get(root, 0))
        if type(value) in (tuple, list):
            return type(value)([now(v) for v in value])
        if type(value) is dict:
            return {k: now(v) for k, v in value.items()}
        return value

    found = []
    for call in calls:
        given = now(call.inputs)
        for out in call.outputs:
            if vocabulary[call.op].view and is_slot(given[0]):
                memory[out.number] = memory[given[0].number]
        for root in {memory.setdefault(s.number, s.number) for s in call.writes}:
            version[root] = version.get(root, 0) + 1
        found.append(
            Call(
                call.op, given, call.attrs, now(call.outputs), now(call.writes),
                call.grad,
            )
        )  # fmt: skip
    return tuple(found), now(results)
