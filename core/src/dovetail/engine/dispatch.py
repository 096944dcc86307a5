"""The slow path of a call: everything an op may have to ask, in order.

overrides → interposers (transforms, comparisons) → promotion → autograd → kernel, body,
host → recorders. The fast path is the code that `dovetail.engine.call_source` writes;
it comes here when anything is out of the ordinary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dovetail.engine import scopes
from dovetail.engine.arguments import explained
from dovetail.engine.autocast import as_cast
from dovetail.engine.entries import learned
from dovetail.engine.execution import run
from dovetail.engine.kernel_call import is_reentry
from dovetail.engine.op import Op
from dovetail.engine.out import check_asked, write_out, written_by_kernel
from dovetail.engine.overrides import ask, overridden
from dovetail.engine.parameters import REQUIRED
from dovetail.engine.plans import plan_for
from dovetail.engine.promotion import lead_of, prepare
from dovetail.engine.scopes import anywhere, here
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentTypeError, DovetailError

Inputs = tuple[Any, ...]
Values = tuple[Any, ...]

_NUMBERS: Final = frozenset({int, float, complex, bool})


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
    if not others:
        if not anywhere[0]:
            led = _led(op, values)
            if led is not None:
                return op.function(*led)
        elif cast and here() is None:
            ready = as_cast(op, values)
            if ready is not None and op.uncast is not None:
                return op.uncast(*ready)
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
        if "dtype" in op.names:
            values = _as_asked(op, values, out)
        done = not anywhere[0] and _into(op, values, out)
        if done:
            return out
        result = miss(op, values, {}, None)
        return write_out(op.name, op.takes_out, out, result)
    scope = scopes.current() if anywhere[0] else None
    if scope is None:
        return learned(op, values, key)
    if scope.interposers:
        return _interposed(op, scope.interposers, values)
    return op.visible(run(op, values, cast))


def _led(op: Op, values: Values) -> list[Any] | None:
    """The values, their leading number as an element of the tensors beside it.

    None where no number leads, or where it would promote them.
    """
    places = op.leading
    number = values[places[0]] if places else None
    if type(number) is not float and type(number) is not int:
        return None
    kind = None
    for at in places[1:]:
        x = values[at]
        if type(x) is not Tensor or (kind is not None and x._kind is not kind):
            return None
        kind = x._kind
    cache = kind.scalars.get(type(number)) if kind is not None else None
    if cache is None or kind is None:
        return None
    ready = [*values]
    ready[places[0]] = wrap(cache[number], kind)
    return ready


def miss_public(
    function: Any, out: bool, op: Op, values: Values, others: dict[str, Any], key: Any
) -> Any:
    """`miss` for users: every error is ours, and not every operand may be a number.

    Args:
        function: what they called.
        out: whether it takes `out=`.
    """
    if not others and anywhere[0] and here() is None:
        ready = as_cast(op, values)
        if ready is not None and op.uncast is not None:
            return op.uncast(*ready)
    try:
        if "out" in others and not out:
            raise ArgumentTypeError(
                function.__name__, "out", was="given", needed="none: it takes no out="
            )
        for at in op.no_numbers:
            if type(values[at]) in _NUMBERS or isinstance(values[at], np.generic):
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
    """Arguments as most write them: defaults left out, what may be left out by name.

    What handles a call for a class of its own may call a parameter otherwise than the
    op does, as long as it cannot be left out.
    """
    count = 1 + max(op.tensor_places, default=-1)
    while count and values[count - 1] is op.params[count - 1].default:
        count -= 1
    while count < len(values) and op.params[count].default is REQUIRED:
        count += 1
    rest = zip(op.params[count:], values[count:], strict=True)
    return values[:count], {p.name: v for p, v in rest if v is not p.default}


def _interposed(op: Op, chain: Sequence[Any], values: Values) -> Any:
    proceed = scopes.Proceed(
        op, tuple(chain), lambda x, attrs: run(op, op.arguments(x, attrs))
    )
    given = zip(op.params, values, strict=True)
    attrs = {p.name: v for p, v in given if p in op.rest}
    return proceed(op.operands(values), attrs)


def _as_asked(op: Op, values: Values, out: Any) -> Values:
    """The arguments, with the dtype of `out` where the op computes in that.

    Raises:
        DTypeError: another one is asked for.
    """
    at = op.names.index("dtype")
    check_asked(op.name, values[at], out)
    if values[at] is not None or op.takes_out != "dtype" or not isinstance(out, Tensor):
        return values
    return (*values[:at], out._kind.dtype, *values[at + 1 :])


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


__all__ = ["failed", "miss", "miss_public"]
