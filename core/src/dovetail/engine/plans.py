"""Plans: how an op runs for its kinds and attributes, with all that is known bound."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dovetail.device_api.kernels import Facts, Kernel
from dovetail.dtypes import DType, int64
from dovetail.engine.kinds import Kind
from dovetail.engine.native_results import compared, comparing, shape_of
from dovetail.engine.op import Op
from dovetail.engine.plan import UNSERVED, Plan
from dovetail.engine.promotion import index_dtype
from dovetail.engine.results import DATA
from dovetail.errors import KernelError

Inputs = tuple[Any, ...]
Native = Callable[..., Any]

_REMEMBERED: Final = 4096  # of each thing that a plan remembers


def plan_for(op: Op, inputs: Inputs, attrs: dict[str, Any], kind: Kind) -> Plan:
    """The plan for these kinds and attributes."""
    kinds = tuple([_kind_of(x) for x in inputs])
    key: Any = (kind, kinds, op.attr_key(attrs))
    try:
        plan = op.plans.get(key)
    except TypeError:  # an attribute that cannot be hashed
        return _new_plan(op, kinds, attrs, kind)
    if plan is None:
        if len(op.plans) >= _REMEMBERED:
            op.plans.clear()
        plan = op.plans[key] = _new_plan(op, kinds, attrs, kind)
    return plan


def _kind_of(x: Any) -> Any:
    """The kind of an input, None for an absent one, those of the members of a list."""
    if type(x) is list:
        return tuple([_kind_of(v) for v in x])
    return None if x is None else x._kind


def _held(dtype: DType, kind: Kind, attrs: dict[str, Any]) -> DType:
    """int64 of counts and indices as the device's index dtype; else as it is."""
    if dtype is int64 and attrs.get("dtype") is not int64:
        return index_dtype(kind)
    return dtype


def _new_plan(
    op: Op, kinds: tuple[Any, ...], attrs: dict[str, Any], kind: Kind
) -> Plan:
    dtypes = [k.dtype if type(k) is Kind else kind.dtype for k in kinds]
    results = op.result_dtypes(dtypes or [kind.dtype], attrs)
    kernels = _asked(kind.backend.table.select(op.name, kind.dtype))
    looks = op.check is None or all(k.checks_indices for k in kernels)
    made = tuple(kind.with_dtype(_held(d, kind, attrs)) for d in results)
    owner = " or ".join(dict.fromkeys(k.owner for k in kernels))
    native = _serving(op, kernels, kinds, attrs, kind)
    if comparing[0] and native is not None and made:
        native = compared(op, native, made, attrs, owner)
    plan = Plan(native, made, looks, owner)
    alone = len(kernels) == 1 and kernels[0].supports_out and kernels[0].broadcasts
    if alone and kernels[0].when is None and plan.looks and plan.kinds == (kind,):
        plan.into = plan.native
    return plan


def _asked(kernels: list[Kernel]) -> list[Kernel]:
    """The kernels up to the first without a condition, which always serves."""
    for count, kernel in enumerate(kernels, 1):
        if kernel.when is None:
            return kernels[:count]
    return kernels


def _serving(
    op: Op, kernels: list[Kernel], kinds: tuple[Any, ...], attrs: dict[str, Any],
    kind: Kind,
) -> Native | None:  # fmt: skip
    """What calls the first kernel whose condition holds; None where there is none."""
    candidates: list[tuple[Callable[..., bool] | None, Native]] = []
    for kernel in kernels:
        function = _bind(op, kernel, attrs)
        if op.lines:
            function = _on_lines(op, function, kind)
        if not op.view:
            function = _laid_out(op, kernel, function, kinds, attrs, kind)
        holds = None if kernel.when is None else _condition(kernel, attrs, kind)
        candidates.append((holds, function))
    if len(kernels) == 1 and kernels[0].when is None:
        return function
    return _choosing(candidates) if candidates else None


def _choosing(candidates: list[tuple[Callable[..., bool] | None, Native]]) -> Native:
    def serve(*natives: Any, **scalars: Any) -> Any:
        for holds, function in candidates:
            if holds is None or holds(natives, scalars):
                return function(*natives, **scalars)
        return UNSERVED

    return serve


def _bind(op: Op, kernel: Kernel, attrs: dict[str, Any]) -> Native:
    """A kernel with its static attributes set; scalars come at the call."""
    static = {p.name: attrs[p.name] for p in op.statics}
    kind = static.pop("kind", None)
    if kind is not None:
        static |= {"dtype": kind.dtype, "index": kind.index}
    if kernel.binds:
        found: Native = kernel.function(**static)
        return found
    return partial(kernel.function, **static) if static else kernel.function


# ---- conditions


def _condition(
    kernel: Kernel, attrs: dict[str, Any], kind: Kind
) -> Callable[[tuple[Any, ...], dict[str, Any]], bool]:
    """Whether a kernel's `when` holds, remembered by the facts that can change."""
    assert kernel.when is not None
    when, known = kernel.when, {n: attrs[n] for n in kernel.reads if n in attrs}
    facts = [(n, _fact(n, kernel, kind, attrs)) for n in kernel.reads if n not in attrs]
    answers: dict[Any, bool] = {}

    def holds(natives: tuple[Any, ...], scalars: dict[str, Any]) -> bool:
        values = known | {n: v for n, v in scalars.items() if n in known}
        if facts:
            arrays = _arrays(natives)
            values |= {name: fact(arrays) for name, fact in facts}
        key = tuple(values.values())
        answer = answers.get(key)
        if answer is None:
            if len(answers) >= _REMEMBERED:
                answers.clear()
            answer = answers[key] = bool(when(Facts(values)))
        return answer

    return holds


def _arrays(natives: tuple[Any, ...]) -> list[Any]:
    lists = [a if isinstance(a, list) else [a] for a in natives]
    return [a for part in lists for a in part if a is not None]


def _fact(
    name: str, kernel: Kernel, kind: Kind, attrs: dict[str, Any]
) -> Callable[[list[Any]], Any]:
    """What finds one of the facts that `dovetail.device_api.Facts` lists."""
    if name == "shape":
        return lambda arrays: tuple([tuple(a.shape) for a in arrays])
    if name == "ndim":
        return lambda arrays: tuple([len(a.shape) for a in arrays])
    if name == "contiguous":
        return lambda arrays: tuple([is_contiguous(kind, a) for a in arrays])
    raise KernelError(
        f"kernel {kernel.op}", "reads", was=f"{name!r} in a kernel of {kernel.owner}",
        needed=f"one of {', '.join(['shape', 'ndim', 'contiguous', *attrs])}",
    )  # fmt: skip


# ---- layouts


def _on_lines(op: Op, function: Native, kind: Kind) -> Native:
    """A kernel to which arrays without dims come as lines of one element."""
    at, view = op.line_at, kind.backend.view

    def serve(*natives: Any, **scalars: Any) -> Any:
        for a in natives:
            if not a.shape:
                break
        else:
            return function(*natives, **scalars)
        lines = [a if a.shape else view(a, (1,), (1,), 0) for a in natives]
        y = function(*lines, **scalars)
        return y if natives[at].shape else view(y, (), (), 0)

    return serve


def _laid_out(
    op: Op, kernel: Kernel, function: Native, kinds: tuple[Any, ...],
    attrs: dict[str, Any], kind: Kind,
) -> Native:  # fmt: skip
    """A kernel behind what core does for it: the op's checks, and layouts."""
    free = op.is_elementwise and (kernel.broadcasts or len(kinds) == 1)
    checks = not (kernel.checks or free) and op.shape is not DATA
    if not checks and not kernel.contiguous:
        return function
    expands = checks and op.is_elementwise
    known: dict[Any, tuple[int, ...]] = {}

    def serve(*natives: Any, **scalars: Any) -> Any:
        if checks:
            shapes = tuple([shape_of(a) for a in natives])
            shape = known.get(shapes)
            if shape is None:
                found = op.infer_shapes(shapes, attrs | scalars)
                if len(known) >= _REMEMBERED:
                    known.clear()
                shape = known[shapes] = found[0] if found else ()
            if expands:
                natives = tuple([_expanded(kind, a, shape) for a in natives])
        if kernel.contiguous:
            natives = tuple(map(_contiguous, kinds, natives))
        return function(*natives, **scalars)

    return serve


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


def _contiguous(kind: Any, native: Any) -> Any:
    if type(kind) is tuple:
        # One plan serves lists of every length whose members are of one kind.
        kinds = kind if len(kind) == len(native) else kind[:1] * len(native)
        return list(map(_contiguous, kinds, native))
    if native is None or is_contiguous(kind, native):
        return native
    backend = kind.backend
    fresh = backend.empty(tuple(native.shape), kind.dtype, kind.index)
    backend.copy(fresh, native)
    return fresh


def is_contiguous(kind: Kind, native: Any) -> bool:
    """Whether an array's elements lie in row-major order without gaps."""
    return kind.backend.is_contiguous(native)
