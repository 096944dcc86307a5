"""Running a graph, call by call, on tensors of any device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.device import device as Device
from dovetail.engine.basics import basics
from dovetail.engine.execution import results_of
from dovetail.engine.graph import Graph, Number, Placed, Slot
from dovetail.engine.kinds import Kind, kind_of, scalar_native
from dovetail.engine.modes import no_grad
from dovetail.engine.naming import spec_of
from dovetail.engine.op import vocabulary
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, IndexOutOfRange


def interpret(
    graph: Graph, inputs: Sequence[Any], device: str | Device = "cpu"
) -> tuple[Any, ...]:
    """The results of a graph for `inputs`, which it may write; off the tape.

    Args:
        inputs: an entry a tensor argument, of the specs that the graph has; other
            strides are taken, by a copy.
        device: where results are made that have no inputs.

    Raises:
        ArgumentError: an input is missing, or has another shape or dtype.
        IndexOutOfRange: a check of an op found values out of range.
    """
    values: dict[int, Tensor] = {}
    written = {s.number for call in graph.calls for s in call.writes}
    refused = {flag.number: op for flag, op in graph.checks}
    found: list[Any] = []
    for x in _flat(inputs):
        if x is not None:
            found.append(x)
    slots = [s for s in _flat(graph.inputs) if s is not None]
    if len(found) != len(slots):
        raise ArgumentError(
            graph.name, "inputs", was=f"{len(found)} tensors", needed=f"{len(slots)}"
        )
    with no_grad():
        for slot, x in zip(slots, found, strict=True):
            values[slot.number] = _fitting(graph, slot, x, slot.number in written)
        where = found[0].device if found else device
        for call in graph.calls:
            given = tuple(_value(x, values, where) for x in call.inputs)
            attrs = {k: _placed(v, where) for k, v in call.attrs.items()}
            outs = results_of(vocabulary[call.op], given, attrs)
            for slot, y in zip(call.outputs, outs, strict=True):
                values[slot.number] = _laid_out(call.op, slot, y)
                if slot.number in refused and y.item():
                    raise IndexOutOfRange(
                        refused[slot.number], "inputs", was="values out of range",
                        needed="values that fit",
                    )  # fmt: skip
    return tuple(_value(r, values, where) for r in graph.results)


def _fitting(graph: Graph, slot: Slot, x: Tensor, is_written: bool) -> Tensor:
    """An input that looks as the graph expects it."""
    spec, own = slot.spec, spec_of(x)
    if (spec.shape, spec.dtype) != (own.shape, own.dtype):
        raise ArgumentError(
            graph.name, f"{slot}", was=f"{own.dtype.name}{list(own.shape)}",
            needed=f"{spec.dtype.name}{list(spec.shape)}",
        )  # fmt: skip
    if own.strides == spec.strides or is_written:
        return x
    copied: Tensor = basics.clone(x)
    return copied


def _laid_out(op: str, slot: Slot, y: Tensor) -> Tensor:
    """A result in the layout that later views count on: row-major, unless a view."""
    if vocabulary[op].view or slot.spec.strides is not None:
        return y
    if spec_of(y).strides is None:
        return y
    copied: Tensor = basics.clone(y)
    return copied


def _flat(values: Sequence[Any]) -> list[Any]:
    return [v for x in values for v in (x if type(x) in (list, tuple) else (x,))]


def _value(x: Any, values: dict[int, Tensor], where: Any) -> Any:
    kind = type(x)
    if kind is Slot:
        return values[x.number]
    if kind is Number:
        found: Kind = kind_of(where, x.dtype)
        return wrap(scalar_native(found, x.value), found)
    return [_value(v, values, where) for v in x] if kind is tuple else x


def _placed(value: Any, where: Any) -> Any:
    return kind_of(where, value.dtype) if type(value) is Placed else value
