"""The lines that put a call on the tape, for the code of an op's callable.

They do what `dovetail.engine.record.record` does, with all that a declaration says
written out: what the gradients ask to keep, and for which of the inputs. For `mul` they
are

    if _grad_enabled() and _kind.dtype.category > 1:
        _e0 = input._node
        if _type(_e0) is _View:
            _e0 = None if _e0.edge_ is _e0.base._node is None else _e0.edge()
        ...
        if _e0 is not None or _e1 is not None:
            _n = _new_node(_Node)
            _n.edges = (_e0, _e1, )
            ...
            _t._node = _n
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dovetail.engine.op import Op


class Given(NamedTuple):
    """How the code of a call names one of its inputs.

    Attributes:
        tensor: the tensor; None where `constant` or `optional` say so.
        native, kind, node: its native array, its kind, and its place on the tape.
        constant: it may be a number, of which there is a native array alone.
        optional: it may be absent.
    """

    tensor: str
    native: str
    kind: str
    node: str
    constant: bool = False
    optional: bool = False

    def or_none(self, expression: str) -> str:
        """An expression about the tensor, which is None where that is absent."""
        if not self.optional:
            return expression
        return f"None if {self.tensor} is None else {expression}"


class Result(NamedTuple):
    """How the code of a call names one of its results: tensor, native array, kind."""

    tensor: str
    native: str
    kind: str


def recording(
    op: Op, inputs: list[Given], attrs: str, results: list[Result]
) -> Iterator[str]:
    """The lines that record the results of `op`, on inputs in their order."""
    inexact = f" and {_has_gradient(results[0])}" if len(results) == 1 else ""
    yield f"if _grad_enabled(){inexact}:"
    for i, x in enumerate(inputs):
        yield f"    _e{i} = {x.node}"
        yield f"    if _type(_e{i}) is _View:"
        yield f"        _e{i} = {_taken(f'_e{i}')}"
    yield f"    if {_flows(range(len(inputs)))}:"
    yield from (f"        {line}" for line in _node(op, inputs, attrs, results))


def _has_gradient(result: Result) -> str:
    """Bools and integers have none, e.g. what a cast to them gives."""
    return f"{result.kind}.dtype.category > 1"


def _taken(view: str) -> str:
    """Where gradients of a view go; for most ask nothing but whether there are any."""
    return f"None if {view}.edge_ is {view}.base._node is None else {view}.edge()"


def _flows(places: range | tuple[int, ...]) -> str:
    """Whether a gradient goes to one of these inputs."""
    return " or ".join(f"_e{i} is not None" for i in places)


def _node(
    op: Op, inputs: list[Given], attrs: str, results: list[Result]
) -> Iterator[str]:
    for at, (slot, users) in enumerate(op.save_plan):
        lines = _kept(f"_s{at}", slot, inputs, results)
        if users is None or len(users) == len(inputs):
            yield from lines
            continue
        yield f"_s{at} = None"
        yield f"if {_flows(users)}:"
        yield from (f"    {line}" for line in lines)
    kinds = [x.or_none(x.kind) for x in inputs]
    yield from _shapes(op, inputs)
    yield "_n = _new_node(_Node)"
    yield "_n.op = _op"
    yield f"_n.edges = {_tuple([f'_e{i}' for i in range(len(inputs))])}"
    yield "_n.shapes = _shapes"
    yield f"_n.kinds = {_tuple(kinds) if op.wants_dtypes else None}"
    yield f"_n.saved = {_tuple([f'_s{i}' for i in range(len(op.save_plan))])}"
    yield f"_n.attrs = {attrs}"
    yield "_n.seq = _next_seq()"
    if len(results) == 1:
        yield "_n.extra = None"
        yield f"{results[0].tensor}._node = _n"
        return
    yield "_n.extra = _m = _Extra()"
    outputs = _tuple([f"({y.tensor}._a.shape, {y.kind})" for y in results])
    yield f"_m.outputs = {outputs}"
    for i, y in enumerate(results):
        yield f"if {_has_gradient(y)}:"
        yield f"    {y.tensor}._node = _Output(_n, {i})"


def _shapes(op: Op, inputs: list[Given]) -> Iterator[str]:
    """The shapes that rules ask for, or by which broadcasting is undone, if any did."""
    broadcasts = op.is_elementwise and len(inputs) > 1
    if not op.wants_shapes and not broadcasts:
        yield "_shapes = None"
        return
    names = [f"_h{i}" for i in range(len(inputs))]
    own = [
        f"{name} = {x.or_none(f'{x.native}.shape')}"
        for name, x in zip(names, inputs, strict=True)
    ]
    if op.wants_shapes:
        yield from own
        yield f"_shapes = {_tuple(names)}"
        return
    yield "_shapes = None"
    indent = ""
    if all(x.constant for x in inputs[1:]):  # a number stretches no tensor
        yield f"if {' or '.join(f'{x.tensor} is not None' for x in inputs[1:])}:"
        indent = "    "
    yield from (f"{indent}{line}" for line in own)
    yield f"{indent}if not {' == '.join(names)}:"
    yield f"{indent}    _shapes = {_tuple(names)}"


def _kept(
    name: str, slot: int, inputs: list[Given], results: list[Result]
) -> Iterator[str]:
    """What is kept of an input, or of a result, which nobody shares yet."""
    if slot < 0:
        y = results[-1 - slot]
        yield f"_m = {y.tensor}._storage = _Storage({y.native})"
        yield f"{name} = ({y.native}, {y.kind}, _m, 0, {slot})"
        return
    x = inputs[slot]
    indent = ""
    if x.optional or x.constant:
        absent = f"({x.native}, {x.kind}, None, 0, {slot})" if x.constant else "None"
        yield f"if {x.tensor} is None:"
        yield f"    {name} = {absent}"
        yield "else:"
        indent = "    "
    yield f"{indent}_m = {x.tensor}._storage"
    yield f"{indent}if _m is None:"
    made = f"_storage_of({x.tensor}) if _inferred else _Storage({x.native})"
    yield f"{indent}    _m = {x.tensor}._storage = {made}"
    yield f"{indent}{name} = ({x.native}, {x.kind}, _m, _m.to_save, {slot})"


def _tuple(items: list[str]) -> str:
    return "(" + "".join(f"{item}, " for item in items) + ")"
