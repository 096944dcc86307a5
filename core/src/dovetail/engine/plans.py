"""Plans: the kernels that may run an op, for its kinds and attributes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail.device_api.kernels import Facts, Kernel
from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import DType, int64
from dovetail.engine.kinds import Kind
from dovetail.engine.op import Op, Plan
from dovetail.engine.promotion import index_dtype
from dovetail.errors import KernelError

Inputs = tuple[Any, ...]


def plan_for(op: Op, inputs: Inputs, attrs: dict[str, Any], kind: Kind) -> Plan:
    """Candidates and result kinds for these kinds and attributes."""
    kinds = tuple(
        x._kind if type(x) is not list and x is not None else None for x in inputs
    )
    key: Any = (kind, kinds, op.attr_key(attrs))
    try:
        plan = op.plans.get(key)
    except TypeError:  # a slice, which Python before 3.12 cannot hash
        return _new_plan(op, kinds, attrs, kind)
    if plan is None:
        plan = op.plans[key] = _new_plan(op, kinds, attrs, kind)
    return plan


def _held(dtype: DType, kind: Kind, attrs: dict[str, Any]) -> DType:
    """int64 of counts and indices as the device's index dtype; else as it is."""
    if dtype is int64 and attrs.get("dtype") is not int64:
        return index_dtype(kind)
    return dtype


def _new_plan(
    op: Op, kinds: tuple[Any, ...], attrs: dict[str, Any], kind: Kind
) -> Plan:
    dtypes = [k.dtype if k is not None else kind.dtype for k in kinds] or [kind.dtype]
    results = op.result_dtypes(dtypes, attrs)
    kernels = kind.backend.table.select(op.name, kind.dtype)
    plan = Plan(
        [(k, _bind(op, k, attrs)) for k in kernels],
        tuple(kind.with_dtype(_held(d, kind, attrs)) for d in results),
    )
    if kernels and kernels[0].when is None:
        first = kernels[0]
        plan.only = plan.kernels[0]
        free = op.is_elementwise and (first.broadcasts or len(kinds) == 1)
        plan.direct = (first.checks or free) and not first.contiguous
    return plan


def _bind(op: Op, kernel: Kernel, attrs: dict[str, Any]) -> Callable[..., Any]:
    """A kernel with its static attributes set; scalars come at the call."""
    static = {p.name: attrs[p.name] for p in op.statics}
    kind = static.pop("kind", None)
    if kind is not None:
        static |= {"dtype": kind.dtype, "index": kind.index}
    if kernel.binds:
        found: Callable[..., Any] = kernel.function(**static)
        return found
    return partial(kernel.function, **static) if static else kernel.function


def choose(
    plan: Plan, kind: Kind, natives: tuple[Any, ...], attrs: dict[str, Any]
) -> tuple[Kernel, Callable[..., Any]] | None:
    for candidate in plan.kernels:
        kernel = candidate[0]
        if kernel.when is None or _holds(plan, kernel, kind, natives, attrs):
            return candidate
    return None


def _holds(
    plan: Plan,
    kernel: Kernel,
    kind: Kind,
    natives: tuple[Any, ...],
    attrs: dict[str, Any],
) -> bool:
    """Whether a kernel's condition holds, remembered by exactly what it reads."""
    values = {name: _fact(name, kernel, kind, natives, attrs) for name in kernel.reads}
    key = (id(kernel), *values.values())
    known = plan.choices.get(key)
    if known is None:
        assert kernel.when is not None
        known = plan.choices[key] = bool(kernel.when(Facts(values)))
    return bool(known)


def _fact(
    name: str,
    kernel: Kernel,
    kind: Kind,
    natives: tuple[Any, ...],
    attrs: dict[str, Any],
) -> Any:
    """One of the facts that `dovetail.device_api.Facts` lists."""
    if name in attrs:
        return attrs[name]
    lists = [a if isinstance(a, list) else [a] for a in natives]
    arrays = [a for part in lists for a in part if a is not None]
    if name == "shape":
        return tuple(tuple(a.shape) for a in arrays)
    if name == "ndim":
        return tuple(len(a.shape) for a in arrays)
    if name == "contiguous":
        return tuple(is_contiguous(kind, a) for a in arrays)
    raise KernelError(
        f"kernel {kernel.op}", "reads", was=f"{name!r} in a kernel of {kernel.owner}",
        needed=f"one of {', '.join(['shape', 'ndim', 'contiguous', *attrs])}",
    )  # fmt: skip


def is_contiguous(kind: Kind, native: Any) -> bool:
    strides, _ = kind.backend.geometry(native, native)
    shape = tuple(native.shape)
    wanted = contiguous_strides(shape)
    return 0 in shape or all(
        n == 1 or s == w for n, s, w in zip(shape, strides, wanted, strict=True)
    )
