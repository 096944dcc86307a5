"""Gradients of elementwise ops with their kernels bound, for passes nobody watches.

A rule such as `ct * other` is a Python function of tensors, each op of which asks anew
what it was asked a thousand times before. So a rule that is elementwise itself is
looked through once for each kind: it is run on the meta device, and the calls that a
recorder hears are written out as calls of their kernels. For `mul` in float32 it is

    def pull(node, ct, create):
        saved = node.saved
        ...
        if edges[0] is not None:
            native, own, storage, version, slot = saved[0]
            if own is not kind or (storage is not None and storage.version != version):
                return general(node, ct, create)
            t0 = run(k0, a, native)
            ...

Whatever is out of the ordinary goes to `general`, the pull that `dovetail.engine
.pullback` has: it says what is wrong, or does what is not written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail.device_api.capabilities import Streams
from dovetail.device_api.meta import MetaArray, contiguous_strides
from dovetail.dtypes import DType
from dovetail.engine import cotangents, modes
from dovetail.engine.arrival import summed_to
from dovetail.engine.graph import Number
from dovetail.engine.kinds import Kind, kind_of
from dovetail.engine.naming import Names
from dovetail.engine.op import Op
from dovetail.engine.plan import UNSERVED
from dovetail.engine.plans import plan_for
from dovetail.engine.pullback import SUMMED, Pull
from dovetail.engine.results import DATA
from dovetail.engine.scopes import Recorder, record, unseen
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, fresh, wrap


class Unbound(Exception):
    """A rule is not one that can be written out."""


def bound(op: Op, kind: Kind, general: Pull) -> Pull:
    """The same as `general` by kernels, or that itself where it cannot be."""
    plain = op.is_elementwise and not (op.view or op.has_list or len(op.outputs) > 1)
    if not plain or op.rules is None:
        return general
    try:
        return _written(op, kind, general)
    except Unbound:
        return general


# ---- looking a rule through


class Value(NamedTuple):
    """A tensor of a rule, whatever its shape."""

    number: int
    dtype: DType


class Step(NamedTuple):
    """A call that a rule makes: of an op, on values and numbers."""

    op: Op
    inputs: tuple[Value | Number, ...]
    attrs: dict[str, Any]
    output: int


class _Calls(Recorder):
    """Writes down the elementwise calls of a rule."""

    def __init__(self) -> None:
        self.names = Names()
        self.steps: list[Step] = []

    def value(self, x: Any) -> Value | Number:
        """What a tensor stands for."""
        if type(x) is not Tensor:
            raise Unbound
        if x in self.names:
            slot = self.names[x]
            return Value(slot.number, slot.spec.dtype)
        number = self.names.number(x)
        if number is None:
            raise Unbound
        return number

    def event(self, name: str, *details: Any) -> None:
        """A number was made an array."""
        if name == "number":
            native, value, dtype = details
            self.names.note_number(native, Number(value, dtype))

    def call(self, op: Op, inputs: Any, attrs: dict[str, Any], outs: Any) -> None:
        """An op ran within the rule."""
        plain = op.is_elementwise and not (op.view or op.mutates or op.draws)
        if not plain or op.has_list or op.shape is DATA or len(outs) > 1:
            raise Unbound
        if any(type(value) is Kind for value in attrs.values()):
            raise Unbound
        given = tuple(map(self.value, inputs))
        self.steps.append(Step(op, given, attrs, self.names.new(outs[0]).number))


def _steps(rule: Any, count: int, kind: Kind, shape: tuple[int, ...]) -> Any:
    """The calls of a rule on `count` tensors, and what its result is."""
    calls = _Calls()
    meta = kind_of("meta", kind.dtype)
    inputs = []
    for _ in range(count):
        native = MetaArray(shape, kind.dtype, contiguous_strides(shape))
        inputs.append(wrap(native, meta))
        calls.names.new(inputs[-1])
    with unseen(), record(calls), modes.no_grad():
        result = calls.value(rule(*inputs))
    return calls.steps, result


def looked_through(rule: Any, count: int, kind: Kind) -> tuple[list[Step], int]:
    """The calls that a rule makes, whatever the shapes are.

    Raises:
        Unbound: they depend on shapes, or are no elementwise calls.
    """
    try:
        found, other = [_steps(rule, count, kind, s) for s in ((2, 3), ())]
    except Exception as error:
        raise Unbound from error
    steps, result = found
    if found != other or result[1:] != (kind.dtype,):
        raise Unbound
    return steps, result.number


# ---- writing it out


class _Source:
    """The lines of `pull`, and what they refer to."""

    def __init__(self, op: Op, kind: Kind, general: Pull) -> None:
        self.op = op
        self.kind = kind
        self.names: dict[str, Any] = {
            "general": general, "kind": kind, "array": kind.array, "lift": kind.lift,
            "here": kind.runner.here, "fresh": fresh, "freed": cotangents.freed,
            "shared": storage_of, "summed_to": summed_to, "unserved": UNSERVED,
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        rules = self.op.rules or ()
        count = len(rules)
        gradients = "".join(f"g{i}, " for i in range(count))
        yield "def pull(node, ct, create):"
        yield "    saved = node.saved"
        yield "    if saved is None:"
        yield "        raise freed(node)"
        yield f"    {''.join(f'e{i}, ' for i in range(count))} = node.edges"
        yield f"    {' = '.join(f'g{i}' for i in range(count))} = None"
        yield "    a = ct._a"
        yield "    run = here()"
        yield "    try:"
        for i, entry in enumerate(rules):
            if entry is not None:
                yield f"        if e{i} is not None:"
                yield from (f"            {line}" for line in self.gradient(i, *entry))
        yield "        pass"
        yield "    except Exception:"
        yield "        return general(node, ct, create)"
        if count > 1:
            yield "    shapes = node.shapes"
            yield "    if shapes is not None:"
            yield from (SUMMED.format(i=i) for i, entry in enumerate(rules) if entry)
        if count == 2:
            yield "    if g0 is g1 and g0 is not None:"
            yield "        shared(g0)"
        yield f"    return ({gradients})"

    def gradient(self, i: int, rule: Any, sources: Any) -> Iterator[str]:
        """The lines that give `g{i}`."""
        if any(source not in ("ct", "saved") for source, _ in sources):
            raise Unbound
        steps, result = looked_through(rule, len(sources), self.kind)
        values: dict[int, str] = {}
        for number, (source, at) in enumerate(sources):
            values[number] = "a" if source == "ct" else f"kept{at}"
            if source == "saved":
                yield from self.kept(at)
        if values.get(result) == "a":
            yield f"g{i} = ct"
            return
        if result < len(sources):
            raise Unbound
        for step in steps:
            yield from self.step(step, values)
        yield f"g{i} = fresh()"
        yield f"g{i}._a = {values[result]}"
        yield f"g{i}._kind = kind"
        yield f"g{i}._node = None"
        yield f"g{i}._storage = None"

    def kept(self, at: int) -> Iterator[str]:
        slot, _ = self.op.save_plan[at]
        if slot >= 0 and self.op.tensors[slot].role != "tensor":
            raise Unbound
        yield f"kept{at}, own, storage, version, _ = saved[{at}]"
        stale = "storage is not None and storage.version != version"
        yield f"if own is not kind or ({stale}):"
        yield "    return general(node, ct, create)"

    def step(self, step: Step, values: dict[int, str]) -> Iterator[str]:
        """The call of one kernel, whose result is made an array."""
        op, at = step.op, len(self.names)
        like = tuple([wrap(None, self.kind.with_dtype(x.dtype)) for x in step.inputs])
        plan = plan_for(op, like, step.attrs, like[op.lead_at]._kind)
        if plan.native is None or not plan.looks or len(plan.kinds) != 1:
            raise Unbound
        given = [self.native(x, values) for x in step.inputs]
        for name in op.scalars:
            self.names[f"{name}{at}"] = step.attrs[name]
            given.append(f"{name}={name}{at}")
        self.names[f"kernel{at}"] = plan.native
        made = values[step.output] = f"made{step.output}"
        yield f"{made} = run(kernel{at}, {', '.join(given)})"
        yield f"if type({made}) is not array:"
        yield f"    if {made} is unserved:"
        yield "        return general(node, ct, create)"
        yield f"    {made} = lift({made})"

    def native(self, x: Value | Number, values: dict[int, str]) -> str:
        """What an array is called: a value's, or that of a number."""
        if isinstance(x, Value):
            return values[x.number]
        name = f"number{len(self.names)}"
        self.names[name] = self.kind.with_dtype(x.dtype).scalars[type(x.value)][x.value]
        return name


def _written(op: Op, kind: Kind, general: Pull) -> Pull:
    """The pull of an op in a kind, with kernels in the place of ops."""
    backend = kind.backend
    if backend.rules_only or backend.capability(Streams) is not None:
        raise Unbound
    source = _Source(op, kind, general)
    text = "\n".join(source.lines())
    place = f"{__file__}: gradient of {op.name}"  # ours, wherever frames are read
    exec(compile(text, place, "exec"), source.names)
    made: Pull = source.names["pull"]
    return made
