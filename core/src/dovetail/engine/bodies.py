"""Running an op without a kernel: by its rule on meta, else by its body."""

from __future__ import annotations

from typing import Any

from dovetail.dtypes import HALF, float32
from dovetail.engine import modes
from dovetail.engine.autocast import without_casting
from dovetail.engine.basics import basics
from dovetail.engine.checks import look
from dovetail.engine.kernel_call import shapes_of
from dovetail.engine.kinds import Kind
from dovetail.engine.op import Op
from dovetail.engine.plan import Plan
from dovetail.engine.plans import plan_for
from dovetail.engine.results import DATA
from dovetail.engine.scopes import anywhere, within_body
from dovetail.engine.tape_of_views import View
from dovetail.engine.tensor import Tensor, alias, wrap
from dovetail.errors import IndexOutOfRange, NotSupported

Inputs = tuple[Any, ...]


def by_rules(
    op: Op, inputs: Inputs, attrs: dict[str, Any], kind: Kind, plan: Plan
) -> tuple[Tensor, ...]:
    """Results without data: the meta device."""
    if op.shape is DATA:
        raise NotSupported(
            op.name, "device", was=f"{kind.device}, where values do not exist",
            needed="a device with data: the shape of the result depends on values",
        )  # fmt: skip
    shapes = op.checked_shapes(shapes_of(inputs), attrs)
    return tuple(
        wrap(k.backend.empty(s, k.dtype, k.index), k)
        for s, k in zip(shapes, plan.kinds, strict=True)
    )


def by_body(
    op: Op, inputs: Inputs, attrs: dict[str, Any], kind: Kind
) -> tuple[Tensor, ...]:
    """The op by its definition, unrecorded; 16-bit floats compute in float32."""
    if anywhere[0]:
        with within_body(), without_casting():
            return run_body(op, inputs, attrs, kind)
    return run_body(op, inputs, attrs, kind)


def run_body(
    op: Op, inputs: Inputs, attrs: dict[str, Any], kind: Kind
) -> tuple[Tensor, ...]:
    """`by_body`, the ops of the body being seen by whatever sees this one."""
    if kind.backend.stands_for is not None:
        return _off_tape(op, inputs, attrs, kind)
    token = modes._grad.set(False)
    try:
        if kind.dtype in HALF and not op.unrounded:
            wide = tuple(_widened(x) for x in inputs)
            result = _defined(op, wide, attrs)
            return _finished(op, _narrowed(op, result, inputs, attrs, kind), inputs)
        return _finished(op, _as_tuple(_defined(op, inputs, attrs)), inputs)
    finally:
        modes._grad.reset(token)


def _off_tape(
    op: Op, inputs: Inputs, attrs: dict[str, Any], kind: Kind
) -> tuple[Tensor, ...]:
    """The body at a level above others, whose own tapes go on."""
    apart = tuple(
        [None if v is None else alias(v) for v in x]
        if isinstance(x, list)
        else (None if x is None else alias(x))
        for x in inputs
    )
    if kind.dtype in HALF and not op.unrounded:
        wide = tuple(_widened(x) for x in apart)
        result = _defined(op, wide, attrs)
        return _finished(op, _narrowed(op, result, apart, attrs, kind), apart)
    return _finished(op, _as_tuple(_defined(op, apart, attrs)), apart)


def _defined(op: Op, inputs: Inputs, attrs: dict[str, Any]) -> Any:
    """What the body gives for values that the op does not refuse."""
    if op.lines and any(not x._a.shape for x in inputs):
        lines = tuple(x if x._a.shape else basics.view(x, (1,)) for x in inputs)
        y = _defined(op, lines, attrs)
        return y if inputs[op.line_at]._a.shape else basics.view(y, ())
    if not op.checked_by_body:
        look(op, inputs, attrs)
        return _body(op, inputs, attrs)
    try:
        return _body(op, inputs, attrs)
    except IndexOutOfRange as refused:
        raise refused.of(op.name) from None


def _body(op: Op, inputs: Inputs, attrs: dict[str, Any]) -> Any:
    if op.tensors_first:
        return op.body(*inputs, **attrs)
    by_name = zip((p.name for p in op.tensors), inputs, strict=True)
    return op.body(**dict(by_name), **attrs)


def _as_tuple(result: Any) -> tuple[Tensor, ...]:
    return result if isinstance(result, tuple) else () if result is None else (result,)


def _finished(
    op: Op, results: tuple[Tensor, ...], inputs: Inputs
) -> tuple[Tensor, ...]:
    """Results that own their memory, and lie as is declared."""
    owned = _owning(results, inputs)
    return _in_rows(owned, inputs) if op.row_major else owned


def _in_rows(results: tuple[Tensor, ...], inputs: Inputs) -> tuple[Tensor, ...]:
    """Results in row-major order; what shares memory with an input stays as it is."""
    for y in results:
        if not y._kind.backend.is_contiguous(y._a):
            break
    else:
        return results
    return tuple([y if _lies_well(y, inputs) else basics.clone(y) for y in results])


def _lies_well(y: Tensor, inputs: Inputs) -> bool:
    if y._kind.backend.is_contiguous(y._a):
        return True
    shared = y._storage
    return any(
        x is y or (shared is not None and x._storage is shared)
        for x in _tensors(inputs)
    )


def _owning(results: tuple[Tensor, ...], inputs: Inputs) -> tuple[Tensor, ...]:
    """Results that are views of what died with the body, as owners of their memory.

    A view of an input stays one, and so do results that share memory.
    """
    views = [y for y in results if type(y._node) is View]
    if views:
        shared = [x._storage for x in _tensors(inputs)] + [y._storage for y in results]
        for y in views:
            if sum(s is y._storage for s in shared) == 1:
                y._node = y._storage = None
    return results


def _tensors(inputs: Inputs) -> list[Tensor]:
    lists = [x if isinstance(x, list) else [x] for x in inputs]
    return [x for part in lists for x in part if x is not None]


def _widened(x: Any) -> Any:
    if isinstance(x, list):
        return [_widened(v) for v in x]
    if x is None or x._kind.dtype not in HALF:
        return x
    return basics.cast(x, float32)


def _narrowed(
    op: Op, result: Any, inputs: Inputs, attrs: dict[str, Any], kind: Kind
) -> tuple[Tensor, ...]:
    results = result if isinstance(result, tuple) else (result,)
    kinds = plan_for(op, inputs, attrs, kind).kinds
    cast = basics.cast
    return tuple(
        y if y._kind is k else cast(y, k.dtype)
        for y, k in zip(results, kinds, strict=True)
    )


def by_recorded_body(
    op: Op, inputs: Inputs, attrs: dict[str, Any]
) -> tuple[Tensor, ...]:
    """All results of an op without a vjp, whose body is differentiated instead.

    Native kernels of the op are passed over.
    """
    if inputs_primitive(op, inputs):
        raise NotSupported(
            f"backward of {op.name}", None, was="not defined",
            needed="a vjp or a body", remedy="call it under no_grad or on detach()",
        )  # fmt: skip
    if op.shape is not DATA:
        op.checked_shapes(shapes_of(inputs), attrs)
    return by_good_body(op, inputs, attrs)


def by_good_body(op: Op, inputs: Inputs, attrs: dict[str, Any]) -> tuple[Tensor, ...]:
    """The same for kinds and shapes that the op is known to take."""
    if anywhere[0]:
        with without_casting():
            return _recorded(op, inputs, attrs)
    return _recorded(op, inputs, attrs)


def _recorded(op: Op, inputs: Inputs, attrs: dict[str, Any]) -> tuple[Tensor, ...]:
    results = _as_tuple(_defined(op, inputs, attrs))
    return _in_rows(results, inputs) if op.row_major else results


def inputs_primitive(op: Op, inputs: Inputs) -> bool:
    """Whether these inputs leave the body out."""
    return any(isinstance(x, Tensor) and x._kind.dtype in op.primitive for x in inputs)


def requires_grad(inputs: Inputs) -> bool:
    if not modes.grad_enabled():
        return False
    for x in inputs:
        if isinstance(x, list):
            if any(v is not None and v.requires_grad for v in x):
                return True
        elif x is not None and x._node is not None and x.requires_grad:
            return True
    return False
