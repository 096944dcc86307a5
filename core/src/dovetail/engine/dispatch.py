"""The slow path of a call: everything an op may have to ask, in order.

overrides → interposers (transforms, comparisons) → promotion → autograd → kernel, body,
host → recorders. The fast path is the code that `dovetail.engine.call_source` writes;
it comes here when anything is out of the ordinary, and here its entries are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dovetail.engine import host, modes, scopes
from dovetail.engine.arguments import explained
from dovetail.engine.attributes import frozen
from dovetail.engine.autocast import casts_for
from dovetail.engine.bodies import by_body, by_recorded_body, by_rules, requires_grad
from dovetail.engine.elements import factor, sure
from dovetail.engine.kernel_call import is_reentry, native_call, shapes_of
from dovetail.engine.kinds import Kind
from dovetail.engine.op import Op
from dovetail.engine.out import write_out, written_by_kernel
from dovetail.engine.overrides import ask
from dovetail.engine.parameters import REQUIRED
from dovetail.engine.plan import Plan
from dovetail.engine.plans import plan_for
from dovetail.engine.promotion import lead_of, prepare
from dovetail.engine.record import record
from dovetail.engine.results import DATA
from dovetail.engine.scopes import anywhere, here
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Parameter, Tensor, overridden, wrap
from dovetail.engine.views import take_view
from dovetail.errors import ArgumentTypeError, DovetailError, InplaceError

Inputs = tuple[Any, ...]
Values = tuple[Any, ...]

_NUMBERS: Final = frozenset({int, float, complex, bool})
_LEARNED_LIMIT: Final = 4096


class Ready:
    """What a call of known kinds and attributes needs no more to be asked for.

    Attributes:
        attrs: the normalised attributes; scalars are filled in at each call.
        scalars: (name, position among the arguments) of each scalar.
        kind, plan: as `execute` takes them.
        numbers: the kind that numbers among the inputs take.
        least, most: what is between them fits.
    """

    __slots__ = (
        "attrs", "kind", "least", "most", "numbers", "op", "plan", "scalars",
    )  # fmt: skip

    def __init__(
        self, op: Op, attrs: dict[str, Any], kind: Kind, plan: Plan, numbers: Kind
    ) -> None:
        self.op = op
        self.attrs = attrs
        self.kind = kind
        self.plan = plan
        self.numbers = numbers
        self.scalars = tuple((n, op.names.index(n)) for n in op.scalars)
        bounds: tuple[Any, Any] = sure(kind.dtype) if op.fitting else (None, None)
        self.least, self.most = bounds

    def run(self, values: Values) -> Any:
        """The op on arguments like those it was learned from."""
        attrs = self.attrs
        if self.scalars:
            attrs = attrs.copy()
            for name, at in self.scalars:
                attrs[name] = values[at]
            self.op.check_numbers(attrs, self.kind.dtype)
        for at in self.op.weights:
            if type(values[at]) in _NUMBERS:
                factor(self.op.name, self.kind.dtype, values[at], self.op.names[at])
        inputs = tuple([self._input(values[i]) for i in self.op.tensor_places])
        return execute(self.op, inputs, attrs, self.kind, self.plan)

    def _input(self, x: Any) -> Any:
        cls = type(x)
        if cls in _NUMBERS:
            return wrap(self.numbers.scalars[cls][x], self.numbers)
        return list(x) if cls is tuple else x


def miss(
    op: Op, values: Values, others: dict[str, Any], key: Any, function: Any = None,
    cast: bool = True,
) -> Any:  # fmt: skip
    """A call that the fast path does not serve.

    Args:
        values: all arguments in the order of the parameters.
        others: arguments by names that are no parameters': NumPy's, `out`.
        key: what the fast path looked for, None where there is more to be asked.
        function: what was called, if not the op's own function.
        cast: whether autocast is to be asked.
    """
    if cast and not others and anywhere[0] and here() is None:
        casts = casts_for(op, values)
        if casts is not None and op.uncast is not None:
            return op.uncast(*casts.applied(op, values))
    out = None
    if others:
        values, out = _named(op, values, others)
    if any(v is REQUIRED for v in values):
        name = next(n for n, v in zip(op.names, values, strict=True) if v is REQUIRED)
        raise ArgumentTypeError(op.name, name, was="missing", needed="a value for it")
    classes = overridden(values if out is None else (*values, out))
    if classes:
        args, kwargs = _as_given(op, values)
        if out is not None:
            kwargs["out"] = out
        return ask(function or op.function, op.name, classes, args, kwargs)
    if out is not None:
        done = not anywhere[0] and _into(op, values, out)
        return out if done else write_out(op.name, out, miss(op, values, {}, None))
    scope = scopes.current() if anywhere[0] else None
    if scope is None:
        return _learned(op, values, key)
    if scope.interposers:
        return _interposed(op, scope.interposers, values)
    return op.visible(_run(op, values, cast))


def miss_public(
    function: Any, out: bool, op: Op, values: Values, others: dict[str, Any], key: Any
) -> Any:
    """`miss` for users: every error is ours, and not every operand may be a number.

    Args:
        function: what they called.
        out: whether it takes `out=`.
    """
    if not others and anywhere[0] and here() is None:
        casts = casts_for(op, values)
        if casts is not None and op.uncast is not None:
            return op.uncast(*casts.applied(op, values))
    try:
        if "out" in others and not out:
            raise ArgumentTypeError(
                function.__name__, "out", was="given", needed="none: it takes no out="
            )
        for at in op.no_numbers:
            if type(values[at]) in _NUMBERS:
                raise ArgumentTypeError(
                    function.__name__, op.names[at], was=repr(values[at]),
                    needed="a Tensor",
                )  # fmt: skip
        return miss(op, values, others, key, function)
    except DovetailError:
        raise
    except Exception as error:
        args, kwargs = _as_given(op, values)
        ours = explained(function.__name__, op.body, args, kwargs, error)
        if ours is None:
            raise
        raise ours from error


def failed(op: Op, values: Values, error: BaseException) -> Any:
    """A kernel refused on the fast path: say why, or rerun where threads collided."""
    try:
        if is_reentry(error):
            return miss(op, values, {}, None)
        if isinstance(error, DovetailError):
            raise error
        try:
            return miss(op, values, {}, None)
        except DovetailError as explained:
            raise explained from error
    finally:
        del error  # it holds this frame, which would hold it and the tensors


def _named(
    op: Op, values: Values, others: dict[str, Any]
) -> tuple[Values, Any]:  # fmt: skip
    """Arguments with those by other names in their places, and `out`.

    Raises:
        ArgumentTypeError: a name that means nothing, or an argument given twice.
    """
    filled = list(values)
    out = None
    for name, value in others.items():
        own = op.own_name(name)
        if name == "out" and op.takes_out:
            out = value
        elif own in op.names and filled[op.names.index(own)] is op.defaults[own]:
            filled[op.names.index(own)] = value
        else:
            raise ArgumentTypeError(
                op.name, name, was="unknown or given twice",
                needed=f"one of {', '.join(op.names)}",
            )  # fmt: skip
    return tuple(filled), out


def _as_given(op: Op, values: Values) -> tuple[Values, dict[str, Any]]:
    """Arguments as a caller writes them: defaults left out, attributes by name."""
    count = 1 + max(op.tensor_places, default=-1)
    while count and values[count - 1] is op.params[count - 1].default:
        count -= 1
    rest = zip(op.params[count:], values[count:], strict=True)
    return values[:count], {p.name: v for p, v in rest if v is not p.default}


def _interposed(op: Op, chain: Sequence[Any], values: Values) -> Any:
    proceed = scopes.Proceed(
        op, tuple(chain), lambda x, attrs: _run(op, op.arguments(x, attrs))
    )
    given = zip(op.params, values, strict=True)
    attrs = {p.name: v for p, v in given if p in op.rest}
    return proceed(op.operands(values), attrs)


def _into(op: Op, values: Values, out: Any) -> bool:
    """Whether the kernel could write its result into `out`."""
    inputs = op.operands(values)
    if len(op.outputs) > 1 or not any(isinstance(x, Tensor) for x in inputs):
        return False
    ready = prepare(op, inputs)
    lead = lead_of(op, ready)
    if lead is None:
        return False
    attrs = op.normalise(values, len(lead._a.shape))
    op.check_numbers(attrs, lead._kind.dtype)
    plan = plan_for(op, ready, attrs, lead._kind)
    return written_by_kernel(op, plan, ready, attrs, out)


# ---- learning: what the next call of this kind finds


def _learned(op: Op, values: Values, key: Any) -> Any:
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
    if (
        key is not None
        and _is_as_given(op, ready, inputs)
        and _are_plain(op, values, attrs)
    ):
        if len(op.calls) >= _LEARNED_LIMIT:
            op.calls.clear()
        op.calls[key] = _entry(op, Ready(op, attrs, kind, plan, kind))
    return execute(op, ready, attrs, kind, plan)


def _entry(op: Op, ready: Ready) -> tuple[Any, ...]:
    """(kernel, kind of the result, its array class, runner, the rest).

    The kernel is None where a call takes more than it.
    """
    plan, kind = ready.plan, ready.kind
    native = plan.native
    if kind.backend.rules_only or op.mutates or not plan.looks:
        native = None
    if native is None or not plan.kinds:
        return (None, None, None, None, ready)
    result = plan.kinds[0]
    return (native, result, result.array, result.runner.here, ready)


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


# ---- running


def _run(op: Op, values: Values, cast: bool = True) -> tuple[Any, ...]:
    """All results; casts, promotes and validates first. `values` are all arguments."""
    casts = casts_for(op, values) if cast else None
    if casts is not None:
        values = casts.applied(op, values)
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


def several(
    op: Op, ready: Ready, result: Any, inputs: Inputs, attrs: dict[str, Any],
    on_tape: bool,
) -> Any:  # fmt: skip
    """The visible results of a kernel with several, put on the tape."""
    outs = tuple(
        [
            wrap(r if type(r) is k.array else k.lift(r), k)
            for r, k in zip(result, ready.plan.kinds, strict=True)
        ]
    )
    if on_tape and op.vjp is not None:
        record(op, outs, inputs, attrs)
    return op.visible(outs)


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
                    storage_of(t).version += 1


__all__ = ["execute", "failed", "miss", "miss_public", "results_of"]
