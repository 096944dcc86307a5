"""Entries: what a call needs that is like one that was made before.

An op's callable looks for its entry under a key of kinds, attributes and types of
numbers; the first such call makes it, on the slow path.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail.engine.attribute_keys import frozen
from dovetail.engine.bodies import by_good_body, by_recorded_body
from dovetail.engine.elements import factor, sure
from dovetail.engine.execution import execute
from dovetail.engine.kinds import Kind
from dovetail.engine.modes import grad_enabled
from dovetail.engine.op import Op
from dovetail.engine.plan import Plan
from dovetail.engine.plans import plan_for
from dovetail.engine.promotion import lead_of, prepare
from dovetail.engine.tensor import Parameter, Tensor, wrap
from dovetail.errors import DTypeError

Inputs = tuple[Any, ...]
Values = tuple[Any, ...]

_NUMBERS: Final = frozenset({int, float, complex, bool})


class Ready:
    """What a call of known kinds and attributes needs no more to be asked for.

    Attributes:
        attrs: the normalised attributes; scalars are filled in at each call.
        scalars: (name, position among the arguments) of each scalar.
        kind, plan: as `execute` takes them.
        numbers: the kind that numbers among the inputs take.
        least, most: what is between them fits.
        shapes: of the inputs that a recorded body had last, which were good.
    """

    __slots__ = (
        "attrs", "kind", "least", "most", "numbers", "op", "plan", "scalars", "shapes",
    )  # fmt: skip

    def __init__(
        self, op: Op, attrs: dict[str, Any], kind: Kind, plan: Plan, numbers: Kind
    ) -> None:
        self.op = op
        self.attrs = attrs
        self.kind = kind
        self.plan = plan
        self.numbers = numbers
        self.shapes: Any = None
        self.scalars = tuple((n, op.names.index(n)) for n in op.scalars)
        bounds: tuple[Any, Any] = sure(kind.dtype) if op.fitting else (None, None)
        self.least, self.most = bounds

    def run(self, values: Values) -> Any:
        """The op on arguments like those it was learned from."""
        inputs, attrs = self._given(values)
        return execute(self.op, inputs, attrs, self.kind, self.plan)

    def recorded(self, values: Values) -> Any:
        """The same where gradients flow and are those of the body.

        Shapes that were good the last time are not asked again.
        """
        op = self.op
        inputs, attrs = self._given(values)
        shapes = [None if x is None else x._a.shape for x in inputs]
        if shapes != self.shapes:
            outs = by_recorded_body(op, inputs, attrs)
            self.shapes = shapes
        else:
            outs = by_good_body(op, inputs, attrs)
        return op.visible(outs)

    def _given(self, values: Values) -> tuple[Inputs, dict[str, Any]]:
        """Inputs and attributes of a call."""
        attrs = self.attrs
        if self.scalars:
            attrs = attrs.copy()
            for name, at in self.scalars:
                attrs[name] = values[at]
            self.op.check_numbers(attrs, self.kind.dtype)
        for at in self.op.weights:
            if type(values[at]) in _NUMBERS:
                factor(self.op.name, self.kind.dtype, values[at], self.op.names[at])
        return tuple([self._input(values[i]) for i in self.op.tensor_places]), attrs

    def _input(self, x: Any) -> Any:
        cls = type(x)
        if cls in _NUMBERS:
            return wrap(self.numbers.scalars[cls][x], self.numbers)
        return list(x) if cls is tuple else x


def learned(op: Op, values: Values, key: Any) -> Any:
    """Run an op the slow way, and remember what a call like this one needs."""
    if key is None:
        key = _key(op, values)
        entry = None if key is None else op.calls.get(key)
        if entry is not None:
            return entry[-1].run(values)
    inputs = op.operands(values)
    ready = prepare(op, inputs)
    lead = lead_of(op, ready)
    attrs = op.normalise(values, 0 if lead is None else len(lead._a.shape))
    kind = attrs["kind"] if lead is None else lead._kind
    op.check_numbers(attrs, kind.dtype)
    plan = plan_for(op, ready, attrs, kind)
    if _is_cut_off(op, attrs, kind, plan):
        _require_no_gradient(op, ready)
    elif (
        key is not None
        and _is_as_given(op, ready, inputs)
        and _are_plain(op, values, attrs)
    ):
        op.learn(key, _entry(op, Ready(op, attrs, kind, plan, kind)))
    return execute(op, ready, attrs, kind, plan)


def _is_cut_off(op: Op, attrs: dict[str, Any], kind: Kind, plan: Plan) -> bool:
    """Whether a dtype that need not be given makes constants of what has gradients."""
    if attrs.get("dtype") is None or op.defaults["dtype"] is not None:
        return False
    return kind.dtype.is_inexact and not plan.kinds[0].dtype.is_inexact


def _require_no_gradient(op: Op, inputs: Inputs) -> None:
    """Raise for inputs with gradients, which a result of integers would end.

    Raises:
        DTypeError: one requires a gradient.
    """
    if grad_enabled() and any(x is not None and x.requires_grad for x in inputs):
        raise DTypeError(
            op.name, "dtype", was="one without gradients",
            needed="a floating point or complex dtype, as input requires a gradient",
            remedy="detach() it first",
        )  # fmt: skip


def _entry(op: Op, ready: Ready) -> tuple[Any, ...]:
    """(kernel, kind of the result, runner, the rest).

    The kernel is None where a call takes more than it.
    """
    plan, kind = ready.plan, ready.kind
    native = plan.native
    if kind.backend.rules_only or op.mutates or not plan.looks:
        native = None
    if native is None or not plan.kinds:
        return (None, None, None, ready)
    result = plan.kinds[0]
    return (native, result, result.runner.here, ready)


def _is_as_given(op: Op, ready: Inputs, inputs: Inputs) -> bool:
    """Whether promotion changed nothing but numbers, into the leading kind."""
    lead = lead_of(op, ready)
    for a, b in zip(ready, inputs, strict=True):
        if a is b:
            continue
        if type(a) is list:
            if len(a) != len(b) or not all(map(_same, a, b)):
                return False
        elif (
            lead is None
            or type(b) not in lead._kind.scalars
            or a._kind is not lead._kind
        ):
            return False
    return True


def _are_plain(op: Op, values: Values, attrs: dict[str, Any]) -> bool:
    """Whether scalars were given as the numbers that kernels get, all in order."""
    return all(
        attrs[name] is values[op.names.index(name)] for name in op.scalars
    ) and not any(isinstance(attrs[name], complex) for name, _ in op.fitting)


def _same(a: Any, b: Any) -> bool:
    return a is b


def _key(op: Op, values: Values) -> Any:
    """The key of a call with numbers, None for what is no plain tensor, or lists.

    None where a call cannot be remembered.
    """
    key: list[Any] = ["by type"]
    for param, value in zip(op.params, values, strict=True):
        if param.role == "attr":
            part = frozen(value)
            if part is None and value is not None:
                return None
        elif param.role == "scalar":
            part = type(value)
            if part not in _NUMBERS and value is not None:
                return None
        elif param.role == "list":
            if type(value) is not list and type(value) is not tuple:
                return None
            part = tuple([_kind_part(x) for x in value])
            if None in part:
                return None
        else:
            part = _kind_part(value)
            if part is None:
                return None
        key.append(part)
    return tuple(key)


def _kind_part(value: Any) -> Any:
    cls = type(value)
    if cls is Tensor or cls is Parameter:
        return value._kind, len(value._a.shape)
    return cls if value is None or cls in _NUMBERS else None
