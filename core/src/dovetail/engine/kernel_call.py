"""Calling a kernel: inputs laid out as it asks, errors worded, results wrapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.device_api.contract import Runner
from dovetail.engine.checks import look
from dovetail.engine.kinds import Kind
from dovetail.engine.op import Op
from dovetail.engine.plan import UNSERVED, Plan
from dovetail.engine.results import DATA
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import DovetailError, KernelError, OutOfMemory, words_of

Inputs = tuple[Any, ...]


def native_call(
    op: Op, plan: Plan, inputs: Inputs, attrs: dict[str, Any]
) -> tuple[Tensor, ...] | None:
    """The results of a plan's kernel; None where it cannot serve."""
    assert plan.native is not None
    kind = plan.kinds[0] if plan.kinds else _first(inputs)._kind
    natives = [native_of(x) for x in inputs]
    scalars = {name: attrs[name] for name in op.scalars} if op.scalars else _NO_ATTRS
    if not plan.looks:
        op.checked_shapes(shapes_of(inputs), attrs)
        look(op, inputs, attrs)
    try:
        result = call(kind, plan.native, natives, scalars)
    except DovetailError:
        raise
    except MemoryError as error:
        raise OutOfMemory.within(op.name, error) from error
    except Exception as error:
        raise explain(op, inputs, attrs, error, plan.owner) from error
    if result is UNSERVED:
        return None
    if len(plan.kinds) == 1:
        return (_wrapped(result, kind),)
    return tuple(map(_wrapped, result, plan.kinds)) if plan.kinds else ()


def _first(inputs: Inputs) -> Tensor:
    found: Tensor = inputs[0][0] if type(inputs[0]) is list else inputs[0]
    return found


_NO_ATTRS: Final[dict[str, Any]] = {}


def _wrapped(native: Any, kind: Kind) -> Tensor:
    return wrap(native if type(native) is kind.array else kind.lift(native), kind)


def call(
    kind: Kind,
    function: Callable[..., Any],
    natives: Sequence[Any],
    scalars: dict[str, Any],
) -> Any:
    """Run a kernel as its device runs them."""
    runner = kind.runner
    try:
        return runner.here()(function, *natives, **scalars)
    except RuntimeError as error:
        if not is_reentry(error):
            raise
    assert isinstance(runner, Runner)
    return runner.renewed()(function, *natives, **scalars)


def is_reentry(error: BaseException) -> bool:
    """Whether a context refused a second thread, to which it had been copied."""
    return type(error) is RuntimeError and str(error).startswith("cannot enter context")


def explain(
    op: Op, inputs: Inputs, attrs: dict[str, Any], error: BaseException, owner: str
) -> DovetailError:
    """What the caller did wrong, by the op's rule, else what `owner`'s kernel did."""
    try:
        if op.shape is not DATA:
            op.infer_shapes(shapes_of(inputs), attrs)
    except DovetailError as refused:
        return refused
    return KernelError(
        op.name, f"the kernel of {owner}",
        was=f"failing with {words_of(error)}",
        needed="a result", remedy=f"inputs had shapes {shapes_of(inputs)}",
    )  # fmt: skip


def native_of(x: Any) -> Any:
    if x is None:
        return None
    if isinstance(x, list):  # written out, for optimizers have long ones
        return [None if v is None else v._a for v in x]
    return x._a


def shapes_of(inputs: Inputs) -> tuple[Any, ...]:
    return tuple(
        None if x is None
        else tuple([None if v is None else tuple(v._a.shape) for v in x])
        if isinstance(x, list)
        else tuple(x._a.shape)
        for x in inputs
    )  # fmt: skip
