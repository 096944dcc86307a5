"""The slow path of a call: everything an op may have to ask, in order.

overrides → interposers (autocast, transforms, recording) → promotion → autograd →
kernel, body, host. The fast path is in `dovetail.engine.declare`; it comes here when
anything is out of the ordinary, and here its tables are filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dovetail.engine import host, modes, scopes
from dovetail.engine.bodies import by_body, by_recorded_body, by_rules, requires_grad
from dovetail.engine.kernel_call import native_call, native_of, shapes_of
from dovetail.engine.kinds import Kind
from dovetail.engine.op import DATA, Op, Plan
from dovetail.engine.plans import choose, plan_for
from dovetail.engine.promotion import lead_of, prepare
from dovetail.engine.record import record
from dovetail.engine.scopes import anywhere
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, overridden
from dovetail.engine.views import take_view
from dovetail.errors import InplaceError, NotSupported

Inputs = tuple[Any, ...]


class Ready:
    """What a call of known kinds and attributes needs no more to be asked for.

    Attributes:
        attrs: the normalised attributes; scalars are filled in at each call.
        scalars: (name, position among the arguments) of each scalar.
        numbers: (position, kind, cached arrays) of each number given for a tensor.
        kind, plan: as `execute` takes them.
    """

    __slots__ = ("attrs", "kind", "numbers", "plan", "scalars")

    def __init__(
        self, op: Op, attrs: dict[str, Any], kind: Kind, plan: Plan, numbers: Any
    ) -> None:
        self.attrs = attrs
        self.numbers = numbers
        self.kind = kind
        self.plan = plan
        self.scalars = tuple((n, op.names.index(n)) for n in op.scalars)


def learn(op: Op, values: Sequence[Any], key: Any) -> Any:
    """Run an op the slow way, and remember what a call with this key needs."""
    if overridden(values):
        return slow(op, values, {})
    inputs = tuple(values[: len(op.tensors)])
    ready = prepare(op, inputs)
    lead = lead_of(op, ready)
    attrs = op.normalise(values, 0 if lead is None else len(lead._a.shape))
    kind = attrs["kind"] if lead is None else lead._kind
    plan = plan_for(op, ready, attrs, kind)
    numbers = _numbers(ready, inputs)
    if numbers is not None:
        if len(op.fast) >= _LEARNED_LIMIT:
            op.fast.clear()
        op.fast[key] = Ready(op, attrs, kind, plan, numbers)
    return execute(op, ready, attrs, kind, plan)


def _numbers(ready: Inputs, inputs: Inputs) -> tuple[Any, ...] | None:
    """What becomes of numbers among the inputs; None if a tensor had to change too."""
    found = []
    for i, (a, b) in enumerate(zip(ready, inputs, strict=True)):
        if a is b or type(a) is list:
            continue
        cache = a._kind.scalars.get(type(b)) if isinstance(a, Tensor) else None
        if cache is None or isinstance(b, Tensor):
            return None
        found.append((i, a._kind, cache))
    return tuple(found)


_LEARNED_LIMIT: Final = 4096


def slow(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run an op on whatever the caller gave."""
    values = op.bind(args, kwargs)
    classes = overridden(values)
    if classes:
        return _override(op, classes, tuple(args), kwargs)
    inputs, rest = values[: len(op.tensors)], values[len(op.tensors) :]
    scope = scopes.current() if anywhere[0] else None
    if scope is not None and scope.interposers:
        proceed = scopes.Proceed(
            op, scope.interposers, lambda x, attrs: _run(op, x, [*x, *attrs.values()])
        )
        attrs = dict(zip(op.names[len(inputs) :], rest, strict=True))
        return proceed(tuple(inputs), attrs)
    return op.visible(_run(op, inputs, values))


def _override(
    op: Op, classes: list[type], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Ask the arguments' classes, the most derived first, to handle the call."""
    classes = sorted(classes, key=lambda c: -len(c.__mro__))
    for cls in classes:
        result = cls.__torch_function__(op.function, tuple(classes), args, kwargs)  # type: ignore[attr-defined]
        if result is not NotImplemented:
            return result
    raise NotSupported(
        op.name, "arguments", was=", ".join(c.__name__ for c in classes),
        needed="a class whose __torch_function__ handles this op",
    )  # fmt: skip


def _run(op: Op, inputs: Sequence[Any], values: Sequence[Any]) -> tuple[Any, ...]:
    """All results; promotes and validates first. `values` are all the arguments."""
    ready = prepare(op, inputs)
    lead = lead_of(op, ready)
    ndim = 0 if lead is None else len(lead._a.shape)
    attrs = op.normalise(values, ndim)
    kind = attrs["kind"] if lead is None else lead._kind
    return _results(op, ready, attrs, kind, plan_for(op, ready, attrs, kind))


def execute(
    op: Op, inputs: Inputs, attrs: dict[str, Any], kind: Kind, plan: Plan
) -> Any:
    """Run an op on prepared inputs and put it on the tape."""
    return op.visible(_results(op, inputs, attrs, kind, plan))


def results_of(op: Op, inputs: Inputs, attrs: dict[str, Any]) -> tuple[Any, ...]:
    """All results of an op on prepared inputs and normalised attributes."""
    lead = lead_of(op, inputs)
    kind = attrs["kind"] if lead is None else lead._kind
    return _results(op, inputs, attrs, kind, plan_for(op, inputs, attrs, kind))


def _results(
    op: Op, inputs: Inputs, attrs: dict[str, Any], kind: Kind, plan: Plan
) -> tuple[Any, ...]:
    """All results of an op, on the tape, and told to the recorders of the context."""
    if op.mutates:
        _check_mutated(op, inputs)
    if op.view:
        outs: tuple[Any, ...] = (take_view(op, inputs[0], attrs, kind, plan),)
    elif op.by_body and requires_grad(inputs):
        return by_recorded_body(op, inputs, attrs)
    else:
        outs = _outputs(op, inputs, attrs, kind, plan)
        if op.mutates:
            _bump(op, inputs)
        if op.vjp is not None:
            record(op, outs, inputs, attrs)
    if anywhere[0]:
        scope = scopes.current()
        for recorder in () if scope is None else scope.recorders:
            recorder.call(op, inputs, attrs, outs)
    return outs


def _outputs(
    op: Op, inputs: Inputs, attrs: dict[str, Any], kind: Kind, plan: Plan
) -> tuple[Tensor, ...]:
    if kind.backend.rules_only:
        return by_rules(op, inputs, attrs, kind, plan)
    natives = tuple([native_of(x) for x in inputs])
    chosen = plan.only or choose(plan, kind, natives, attrs)
    if chosen is not None:
        return native_call(op, plan, chosen, inputs, natives, attrs)
    if kind.dtype not in op.primitive:
        if op.shape is not DATA:
            op.checked_shapes(shapes_of(inputs), attrs)
        return by_body(op, inputs, attrs, kind)
    return host.fallback(op, inputs, attrs, kind, plan.kinds)


def _check_mutated(op: Op, inputs: Inputs) -> None:
    if not modes.grad_enabled():
        return
    for param, x in zip(op.tensors, inputs, strict=True):
        if param.name in op.mutates and x is not None and x.requires_grad:
            raise InplaceError(
                op.name, param.name, was="a tensor that requires gradients",
                needed="one that does not, since it is written",
                remedy="call it under dovetail.no_grad()",
            )  # fmt: skip


def _bump(op: Op, inputs: Inputs) -> None:
    for param, x in zip(op.tensors, inputs, strict=True):
        if param.name in op.mutates:
            for t in x if isinstance(x, list) else (x,):
                if t is not None:
                    storage_of(t).version += 1
