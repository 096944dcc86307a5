"""Calling a kernel: inputs laid out as it asks, errors worded, results wrapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.device_api.kernels import Kernel
from dovetail.engine.checks import look
from dovetail.engine.kinds import Kind
from dovetail.engine.op import DATA, Op, Plan
from dovetail.engine.plans import is_contiguous
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import DovetailError, KernelError, OutOfMemory

Inputs = tuple[Any, ...]


def native_call(
    op: Op, plan: Plan, chosen: tuple[Kernel, Callable[..., Any]], inputs: Inputs,
    natives: tuple[Any, ...], attrs: dict[str, Any],
) -> tuple[Tensor, ...]:  # fmt: skip
    kernel, function = chosen
    kind = plan.kinds[0] if plan.kinds else inputs[0]._kind
    if not plan.direct:
        natives = _shaped(op, kernel, inputs, natives, attrs, kind)
    scalars = {name: attrs[name] for name in op.scalars} if op.scalars else _NO_ATTRS
    if op.check is not None and not kernel.checks_indices:
        look(op, inputs, attrs)
    try:
        result = call(kind, function, natives, scalars)
    except DovetailError:
        raise
    except MemoryError as error:
        raise OutOfMemory(
            op.name, "memory", was=f"not enough: {error}", needed="room for the result"
        ) from error
    except Exception as error:
        raise explain(op, inputs, attrs, error, kernel.owner) from error
    if not plan.kinds:
        return ()
    if len(plan.kinds) == 1:
        if (
            op.plain
            and plan.direct
            and not op.by_body
            and inputs[0]._kind not in op.table
        ):
            _fill_fast_path(op, inputs, function, kind)
        return (_wrapped(result, kind),)
    return tuple(map(_wrapped, result, plan.kinds))


_NO_ATTRS: Final[dict[str, Any]] = {}


def _wrapped(native: Any, kind: Kind) -> Tensor:
    return wrap(native if type(native) is kind.array else kind.lift(native), kind)


def call(
    kind: Kind,
    function: Callable[..., Any],
    natives: Sequence[Any],
    scalars: dict[str, Any],
) -> Any:
    """Run a kernel as its device runs them; one that calls ops, in a further copy."""
    try:
        return kind.runner.run(function, *natives, **scalars)
    except RuntimeError as error:
        if not is_reentry(error):
            raise
    return kind.backend.context.copy().run(function, *natives, **scalars)


def is_reentry(error: BaseException) -> bool:
    """Whether a context refused to be entered again by a kernel that calls ops."""
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
        was=f"failing with {type(error).__name__}: {error}",
        needed="a result", remedy=f"inputs had shapes {shapes_of(inputs)}",
    )  # fmt: skip


def _shaped(
    op: Op, kernel: Kernel, inputs: Inputs, natives: tuple[Any, ...],
    attrs: dict[str, Any], kind: Kind,
) -> tuple[Any, ...]:  # fmt: skip
    """Inputs in the layout that a kernel asks for, after the op's own checks."""
    if not kernel.checks and op.shape is not DATA:
        shapes = op.checked_shapes(shapes_of(inputs), attrs)
        if op.is_elementwise and not kernel.broadcasts:
            natives = tuple(_expanded(kind, a, shapes[0]) for a in natives)
    if kernel.contiguous:
        natives = tuple(map(_contiguous, inputs, natives))
    return natives


def _expanded(kind: Kind, a: Any, shape: tuple[int, ...]) -> Any:
    own = tuple(a.shape)
    if own == shape:
        return a
    strides, _ = kind.backend.geometry(a, a)
    missing = len(shape) - len(own)
    wide = [0] * missing + [
        0 if size == 1 and size != to else step
        for size, step, to in zip(own, strides, shape[missing:], strict=True)
    ]
    return kind.backend.view(a, shape, tuple(wide), 0)


def _contiguous(x: Any, native: Any) -> Any:
    if x is None:
        return None
    if isinstance(x, list):
        return [_contiguous(v, a) for v, a in zip(x, native, strict=True)]
    kind, shape = x._kind, tuple(native.shape)
    backend = kind.backend
    if is_contiguous(kind, native):
        return native
    fresh = backend.empty(shape, kind.dtype, kind.index)
    backend.copy(fresh, native)
    return fresh


def native_of(x: Any) -> Any:
    if x is None:
        return None
    if isinstance(x, list):
        return [native_of(v) for v in x]
    return x._a


def shapes_of(inputs: Inputs) -> tuple[Any, ...]:
    return tuple(
        None if x is None
        else tuple([None if v is None else tuple(v._a.shape) for v in x])
        if isinstance(x, list)
        else tuple(x._a.shape)
        for x in inputs
    )  # fmt: skip


def _fill_fast_path(
    op: Op, inputs: Inputs, function: Callable[..., Any], kind: Kind
) -> None:
    """Let the next call of this kind skip all of this, where nothing can differ."""
    source = inputs[0]._kind
    same = all(isinstance(x, Tensor) and x._kind is source for x in inputs)
    if same:
        op.table[source] = (function, kind, kind.runner, kind.array)
