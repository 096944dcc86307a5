"""Lowering: the graph of an op in primitives, by running its body on meta.

The body is the definition, so nothing is written twice. No values are needed and none
are read; ops whose result's shape depends on values have no graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.device_api.meta import MetaArray, contiguous_strides
from dovetail.engine import modes
from dovetail.engine.bodies import run_body
from dovetail.engine.graph import Call, Graph, Number, Placed, Slot, Spec, is_slot
from dovetail.engine.kinds import Kind, kind_of
from dovetail.engine.naming import Names, plain_attrs, spec_of, targets, versioned
from dovetail.engine.op import Op
from dovetail.engine.parameters import REQUIRED
from dovetail.engine.promotion import lead_of
from dovetail.engine.results import DATA
from dovetail.engine.scopes import Recorder, record, unseen
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentTypeError, NotSupported

_LIMIT: Final = 1024
# Graphs by op, specs and attributes; emptied when it is full.
_lowered: Final[dict[Any, Graph]] = {}


def lower(
    op: Op, specs: Sequence[Any], attrs: dict[str, Any] | None = None,
    leaves: frozenset[str] = frozenset(), unknown: tuple[str, ...] = (),
) -> Graph:  # fmt: skip
    """The graph of an op in primitives, views and moves between devices.

    Args:
        specs: an entry a tensor parameter: a `Spec`, None, or a list of them, of the
            dtypes that the op runs in (promotion comes before).
        attrs: the other arguments by name; defaults fill in. A kind may be a dtype.
        leaves: ops that are called as they are, as if they were primitives.
        unknown: scalars whose values come later: 0-d inputs behind the others.

    Raises:
        NotSupported: the shape of a result depends on values, or the body reads some.
    """
    given = _given(op, attrs or {})
    key = (op.name, repr(tuple(specs)), repr(given), leaves, unknown)
    graph = _lowered.get(key)
    if graph is None:
        if len(_lowered) >= _LIMIT:
            _lowered.clear()
        graph = _lowered[key] = _traced(op, specs, given, leaves, unknown)
    return graph


def lower_function(
    name: str, function: Callable[..., tuple[Any, ...]], specs: Sequence[Spec | None],
    leaves: frozenset[str] = frozenset(),
) -> Graph:  # fmt: skip
    """The graph of a function of tensors, as `lower` makes it of an op.

    Args:
        name: what it is called in listings.
        function: gives tensors, and None for what is left out of the results.
    """
    tracer = _Tracer(leaves)
    inputs = tuple(tracer.input(spec) for spec in specs)
    slots = tuple(tracer.named(x) for x in inputs)
    with unseen(), record(tracer), modes.no_grad():
        outs = function(*inputs)
    made = tuple(tracer.named(y) for y in outs if y is not None)
    calls, results = versioned(slots, tracer.calls, made)
    return Graph(name, slots, calls, results, tuple(tracer.checks))


def is_primitive(op: Op, kind: Kind) -> bool:
    """Whether an op is one that no graph expands: level 0, a view, or memory's."""
    return op.view or op.memory or kind.dtype in op.primitive


def _given(op: Op, attrs: dict[str, Any]) -> dict[str, Any]:
    """All attributes, a kind as its dtype."""
    found = {}
    for param in op.rest:
        value = attrs.get(param.name, param.default)
        if value is REQUIRED:
            raise ArgumentTypeError(
                f"lower {op.name}", param.name, was="missing", needed="a value"
            )
        found[param.name] = value
    unknown = attrs.keys() - found.keys()
    if unknown:
        raise ArgumentTypeError(
            f"lower {op.name}", sorted(unknown)[0], was="no attribute of the op",
            needed=f"one of {', '.join(found)}",
        )  # fmt: skip
    return plain_attrs(found)


def _traced(
    op: Op, specs: Sequence[Any], given: dict[str, Any], leaves: frozenset[str],
    unknown: tuple[str, ...],
) -> Graph:  # fmt: skip
    if op.shape is DATA:
        raise NotSupported(
            f"lower {op.name}", "shape", was="one that depends on values",
            needed="an op whose results have shapes that follow from its inputs'",
        )  # fmt: skip
    tracer = _Tracer(leaves)
    inputs = tuple(tracer.input(spec) for spec in specs)
    slots = tuple(tracer.named(x) for x in inputs)
    lead = lead_of(op, inputs)
    values = op.arguments(inputs, {n: _on_meta(v) for n, v in given.items()})
    attrs = op.normalise(values, 0 if lead is None else len(lead._a.shape))
    kind = attrs["kind"] if lead is None else lead._kind
    for name in unknown:
        attrs[name] = tracer.input(Spec((), kind.dtype))
        slots += (tracer.named(attrs[name]),)
    with unseen(), record(tracer), modes.no_grad():
        if tracer.is_leaf(op, kind):
            y = op.call_with(inputs, attrs)
            outs = y if isinstance(y, tuple) else () if op.mutates else (y,)
        else:
            if op.check is not None and not op.checked_by_body:
                tracer.check(op, op.check(*inputs, **attrs))
            outs = run_body(op, inputs, attrs, kind)
    made = tuple(tracer.named(y) for y in outs)
    calls, results = versioned(slots, tracer.calls, made)
    return Graph(op.name, slots, calls, results, tuple(tracer.checks))


def _on_meta(value: Any) -> Any:
    return kind_of("meta", value.dtype) if type(value) is Placed else value


class _Tracer(Recorder):
    """Writes down primitive calls, and puts the graphs of others in their place."""

    def __init__(self, leaves: frozenset[str]) -> None:
        self.leaves = leaves
        self.names = Names()
        self.calls: list[Call] = []
        self.checks: list[tuple[Slot, str]] = []

    def is_leaf(self, op: Op, kind: Kind) -> bool:
        """Whether an op's call stands in the graph, and not what it is made of."""
        return op.name in self.leaves or is_primitive(op, kind)

    def input(self, spec: Any) -> Any:
        """A tensor on meta that stands for an argument."""
        if spec is None:
            return None
        if not isinstance(spec, Spec):
            return [self.input(s) for s in spec]
        kind = kind_of("meta", spec.dtype)
        strides = spec.strides or contiguous_strides(spec.shape)
        x = wrap(MetaArray(spec.shape, spec.dtype, strides), kind)
        self.names.new(x)
        return x

    def named(self, x: Any) -> Any:
        """What stands in the graph for an input of a call."""
        if x is None:
            return None
        if isinstance(x, list | tuple):
            return tuple(map(self.named, x))
        if x in self.names:
            return self.names[x]
        number = self.names.number(x)
        if number is None:
            raise NotSupported(
                "lower", "value", was=f"a {x.dtype.name} tensor of shape "
                f"{tuple(x.shape)} that no op made", needed="tensors made by ops",
            )  # fmt: skip
        return number

    def event(self, name: str, *details: Any) -> None:
        """A number was made an array."""
        if name == "number":
            native, value, dtype = details
            self.names.note_number(native, Number(value, dtype))

    def call(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any],
        outs: tuple[Tensor, ...],
    ) -> None:  # fmt: skip
        """Write down a primitive call, or the graph of another one."""
        given = tuple(map(self.named, inputs))
        lead = lead_of(op, inputs)
        if self.is_leaf(op, attrs["kind"] if lead is None else lead._kind):
            writes = tuple(self.named(x) for x in targets(op, inputs))
            made = tuple(self.names.new(y) for y in outs)
            self.calls.append(Call(op.name, given, plain_attrs(attrs), made, writes))
            return
        graph = lower(op, [_spec(x) for x in inputs], attrs, self.leaves)
        for y, slot in zip(outs, self.inline(graph, given), strict=True):
            self.names.bind(y, slot)

    def inline(self, graph: Graph, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Put the calls of `graph` here; what its results are called."""
        names: dict[int, Any] = {}
        for inner, outer in zip(_flat(graph.inputs), _flat(given), strict=True):
            if is_slot(inner):
                names[inner.number] = outer

        def renamed(value: Any) -> Any:
            if is_slot(value):
                if value.number not in names:
                    names[value.number] = self.names.fresh(value.spec)
                return names[value.number]
            return tuple(map(renamed, value)) if type(value) is tuple else value

        for c in graph.calls:
            made = (renamed(c.inputs), c.attrs, renamed(c.outputs), renamed(c.writes))
            self.calls.append(Call(c.op, *made))
        self.checks += [(renamed(slot), op) for slot, op in graph.checks]
        return tuple(map(renamed, graph.results))

    def check(self, op: Op, found: Any) -> None:
        """Keep the flag of an op's check."""
        if found is not None:
            self.checks.append((self.named(found[0]), op.name))


def _flat(values: tuple[Any, ...]) -> list[Any]:
    """The entries of inputs and of the lists among them."""
    return [
        v
        for x in values
        for v in (x if type(x) is tuple and not isinstance(x, Number) else (x,))
    ]


def _spec(x: Any) -> Any:
    if x is None:
        return None
    return [_spec(v) for v in x] if isinstance(x, list) else spec_of(x)


Op.lower = lower  # type: ignore[assignment, method-assign]
