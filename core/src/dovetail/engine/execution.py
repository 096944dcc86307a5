"""Running an op on prepared inputs: by kernel, body or host; on the tape; told."""

from __future__ import annotations

from typing import Any

from dovetail.engine import host, modes, scopes
from dovetail.engine.autocast import as_cast
from dovetail.engine.bodies import by_body, by_recorded_body, by_rules, requires_grad
from dovetail.engine.kernel_call import native_call, shapes_of
from dovetail.engine.kinds import Kind
from dovetail.engine.op import Op
from dovetail.engine.plan import Plan
from dovetail.engine.plans import plan_for
from dovetail.engine.promotion import lead_of, prepare
from dovetail.engine.record import record
from dovetail.engine.results import DATA
from dovetail.engine.scopes import anywhere
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor
from dovetail.engine.views import take_view
from dovetail.errors import InplaceError

Inputs = tuple[Any, ...]
Values = tuple[Any, ...]


def run(op: Op, values: Values, cast: bool = True) -> tuple[Any, ...]:
    """All results; casts, promotes and validates first. `values` are all arguments."""
    if cast:
        values = as_cast(op, values) or values
    ready = prepare(op, op.operands(values))
    lead = lead_of(op, ready)
    attrs = op.normalise(values, 0 if lead is None else len(lead._a.shape))
    if lead is not None:
        op.check_numbers(attrs, lead._kind.dtype)
    return results_of(op, ready, attrs)


def results_of(op: Op, inputs: Inputs, attrs: dict[str, Any]) -> tuple[Any, ...]:
    """All results of an op on prepared inputs and normalised attributes."""
    lead = lead_of(op, inputs)
    kind = attrs["kind"] if lead is None else lead._kind
    return _results(op, inputs, attrs, kind, plan_for(op, inputs, attrs, kind))


def execute(
    op: Op, inputs: Inputs, attrs: dict[str, Any], kind: Kind, plan: Plan
) -> Any:
    """Run an op on prepared inputs and put it on the tape."""
    return op.visible(_results(op, inputs, attrs, kind, plan))


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
    if plan.native is not None:
        outs = native_call(op, plan, inputs, attrs)
        if outs is not None:
            return outs
    if kind.dtype not in op.primitive:
        if op.shape is not DATA:
            op.checked_shapes(shapes_of(inputs), attrs)
        return by_body(op, inputs, attrs, kind)
    return host.fallback(op, inputs, attrs, kind, plan.kinds)


def _check_mutated(op: Op, inputs: Inputs) -> None:
    if not modes.grad_enabled():
        return
    for param, x in zip(op.tensors, inputs, strict=True):
        if param.name in op.mutates and _any_requires_grad(x):
            raise InplaceError(
                op.name, param.name, was="a tensor that requires gradients",
                needed="one that does not, since it is written",
                remedy="call it under dovetail.no_grad()",
            )  # fmt: skip


def _any_requires_grad(x: Any) -> bool:
    return any(
        t is not None and t.requires_grad for t in (x if type(x) is list else (x,))
    )


def _bump(op: Op, inputs: Inputs) -> None:
    for param, x in zip(op.tensors, inputs, strict=True):
        if param.name in op.mutates:
            for t in x if isinstance(x, list) else (x,):
                if t is not None:
                    (t._storage or storage_of(t)).version += 1


__all__ = ["execute", "results_of", "run"]
