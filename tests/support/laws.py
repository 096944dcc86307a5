"""What every op must obey, derived from its declaration: the judges of the tests."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail.core import engine
from dovetail.core.cases import Case, cases_of
from dovetail.core.kinds import kind_of
from dovetail.core.op import DATA, Op
from dovetail.core.tensor import Tensor, wrap
from dovetail.dtypes import DType

# (relative, absolute) by the dtype of the result; one table for all tests.
TOLERANCE: Final = {
    "float16": (2e-3, 2e-3), "bfloat16": (1.6e-2, 1.6e-2), "float32": (1e-5, 2e-6),
    "float64": (1e-10, 1e-12), "complex64": (1e-5, 4e-6), "complex128": (1e-10, 1e-12),
}  # fmt: skip
DTYPES: Final = (
    dt.float32, dt.float64, dt.int32, dt.int64, dt.bool, dt.uint8, dt.complex64,
    dt.float16, dt.bfloat16,
)  # fmt: skip


def dtypes_of(op: Op, among: Sequence[DType] = DTYPES) -> list[DType]:
    """The dtypes to prove an op in."""
    found = [d for d in among if d in op.accepts]
    if op.promote == "float" and dt.int32 in among:
        found.append(dt.int32)
    return found


def native(value: Any, device: str, grad: bool = False) -> Any:
    """A case's argument as the op takes it: arrays as tensors on the device."""
    if isinstance(value, np.ndarray):
        kind = kind_of(device, dt.tensor(value).dtype)
        t = wrap(kind.backend.copy_in(value, kind.index), kind)
        if grad and kind.dtype.is_inexact:
            t.requires_grad = True
        return t
    if isinstance(value, list) and any(isinstance(v, np.ndarray) for v in value):
        return [native(v, device, grad) for v in value]
    return value


def arguments(
    op: Op, case: Case, device: str, dtype: DType, grad: bool = False
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a call on a device; creation ops get their kind."""
    args = [native(a, device, grad) for a in case.args]
    kwargs = {k: native(v, device, grad) for k, v in case.kwargs.items()}
    if "kind" in op.names and len(args) + len(kwargs) < len(op.names):
        kwargs.setdefault("kind", kind_of(device, dtype))
    return args, kwargs


def call(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Tensor]:
    """The results of a call as a list; what an op that writes wrote comes first."""
    result = op.function(*args, **kwargs)
    found = list(result) if isinstance(result, tuple | list) else [result]
    if op.mutates:
        bound = dict(zip(op.names, op.bind(args, kwargs), strict=True))
        found = [bound[n] for n in op.mutates if bound[n] is not None] + found
    return [y for y in found if y is not None]


def wide(value: Any) -> Any:
    """Arrays in the widest format of their category, for the oracle."""
    if isinstance(value, list):
        return [wide(v) for v in value]
    if isinstance(value, np.ndarray):
        name = dt.tensor(value).dtype
        if name.is_complex:
            return value.astype(np.complex128)
        return value.astype(np.float64) if name.is_floating_point else value
    return value


def truth(op: Op, case: Case, dtype: DType) -> list[np.ndarray[Any, Any]]:
    """What the oracle says; it may ask for the dtype under test, as `kind`."""
    assert op.oracle is not None, f"{op.name} has no oracle"
    kwargs = {k: wide(v) for k, v in case.kwargs.items()}
    if "kind" in inspect.signature(op.oracle).parameters:
        kwargs.setdefault("kind", dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing is NaN
        found = op.oracle(*map(wide, case.args), **kwargs)
    return (
        [np.asarray(y) for y in found]
        if isinstance(found, tuple | list)
        else [np.asarray(found)]
    )


def values(y: Tensor) -> np.ndarray[Any, Any]:
    """The values of a tensor, in NumPy."""
    return y._kind.backend.copy_out(y._a)


def close(op: Op, got: Tensor, want: np.ndarray[Any, Any], note: str = "") -> None:
    """One result against the truth, exactly for bools and integers."""
    have = values(got)
    assert tuple(have.shape) == want.shape, (
        f"{op.name}{note}: shape {have.shape}, oracle {want.shape}"
    )
    if got.dtype.name not in TOLERANCE:
        np.testing.assert_array_equal(
            have, want.astype(have.dtype), err_msg=f"{op.name}{note}"
        )
        return
    rtol, atol = TOLERANCE[got.dtype.name]
    target = np.complex128 if got.dtype.is_complex else np.float64
    scale = np.abs(want[np.isfinite(want)]).max(initial=1.0) if want.size else 1.0
    np.testing.assert_allclose(
        have.astype(target), want.astype(target), rtol=rtol, atol=atol * scale,
        err_msg=f"{op.name}{note}",
    )  # fmt: skip


def obeys_oracle(op: Op, dtype: DType, device: str) -> int:
    """Each case's results equal the oracle's; gives the number of cases."""
    count = 0
    for case in cases_of(op, dtype):
        args, kwargs = arguments(op, case, device, dtype)
        want = truth(op, case, dtype)
        got = call(op, args, kwargs)
        assert len(got) == len(want), (
            f"{op.name}: {len(got)} results, oracle {len(want)}"
        )
        for y, reference in zip(got, want, strict=True):
            assert y.device == kind_of(device, dtype).device
            close(op, y, reference, f" {dtype.name} on {device} {_shapes(case)}")
        count += 1
    return count


def _shapes(case: Case) -> str:
    shown = [a.shape if isinstance(a, np.ndarray) else a for a in case.args]
    return f"{shown} {case.kwargs}"


def rule_agrees(op: Op, dtype: DType) -> None:
    """On meta, the rule gives the shapes and dtypes that the CPU really makes."""
    if op.shape is DATA:
        return
    for case in cases_of(op, dtype):
        real = call(op, *arguments(op, case, "cpu", dtype))
        meta = call(op, *arguments(op, case, "meta", dtype))
        assert [(tuple(y.shape), y.dtype) for y in meta] == [
            (tuple(y.shape), y.dtype) for y in real
        ], f"{op.name} {_shapes(case)}"


def _leaves(args: Sequence[Any], kwargs: dict[str, Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in (*args, *kwargs.values()):
        for v in value if isinstance(value, list) else (value,):
            if isinstance(v, Tensor) and v.requires_grad:
                found.append(v)
    return found


def _weights(ys: Sequence[Tensor], seed: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, tuple(y.shape)) for y in ys]


def _inner(ys: Sequence[Tensor], ws: Sequence[Any], device: str) -> Tensor:
    """Sum of ⟨y, w⟩ over the results, as a tensor."""
    total: Any = 0.0
    for y, w in zip(ys, ws, strict=True):
        total = total + (y * native(w, device)).sum()
    return total  # type: ignore[no-any-return]


def _differentiable(
    op: Op, args: Sequence[Any], kwargs: dict[str, Any]
) -> list[Tensor]:
    return [
        y
        for y in call(op, args, kwargs)
        if y.dtype.is_floating_point and y.requires_grad
    ]


def gradients_hold(op: Op, device: str = "cpu", order: int = 2) -> int:
    """First and second derivatives against central differences in float64."""
    count = 0
    for case in cases_of(op, dt.float64):
        count += _gradient_case(op, case, device, order)
    return count


def _gradient_case(op: Op, case: Case, device: str, order: int) -> int:
    def value(shift: float, directions: list[Any]) -> Callable[[], Tensor]:
        args, kwargs = arguments(op, case, device, dt.float64, grad=True)
        leaves = _leaves(args, kwargs)
        with dt.no_grad():
            for leaf, d in zip(leaves, directions, strict=True):
                leaf._a = (leaf + native(np.asarray(shift * d), device))._a
        return lambda: (args, kwargs, leaves)  # type: ignore[return-value]

    args, kwargs = arguments(op, case, device, dt.float64, grad=True)
    leaves = _leaves(args, kwargs)
    if not leaves or not (ys := _differentiable(op, args, kwargs)):
        return 0
    ws = _weights(ys, 1)
    directions = _weights(leaves, 2)

    def objective(shift: float, second: bool) -> Any:
        a, k, ls = value(shift, directions)()  # type: ignore[misc]
        total = _inner(_differentiable(op, a, k), ws, device)
        if not second:
            return total.item()
        return _gradient_dot(total, ls, device).item()

    total = _inner(ys, ws, device)
    if not np.isfinite(total.item()):
        return 0  # the mean of nothing has no gradient to compare
    grads = engine.grad([total], leaves, allow_unused=True, create_graph=order > 1)
    claimed = sum(
        float((values(g) * d).sum())
        for g, d in zip(grads, directions, strict=True)
        if g is not None
    )
    h = 1e-5
    measured = (objective(h, False) - objective(-h, False)) / (2 * h)
    _agree(op, case, "gradient", claimed, measured)
    if order > 1 and any(g is not None and g.requires_grad for g in grads):
        again = _gradient_dot_of(grads, device)
        second = engine.grad([again], leaves, allow_unused=True)
        claimed = sum(
            float((values(g) * d).sum())
            for g, d in zip(second, directions, strict=True)
            if g is not None
        )
        measured = (objective(h, True) - objective(-h, True)) / (2 * h)
        _agree(op, case, "second derivative", claimed, measured)
    return 1


def _gradient_dot(total: Tensor, leaves: Sequence[Tensor], device: str) -> Tensor:
    grads = engine.grad([total], leaves, allow_unused=True, create_graph=True)
    return _gradient_dot_of(grads, device)


def _gradient_dot_of(grads: Sequence[Tensor | None], device: str) -> Tensor:
    present = [g for g in grads if g is not None]
    return _inner(present, _weights(present, 3), device)


def _agree(op: Op, case: Case, what: str, claimed: float, measured: float) -> None:
    tolerance = 2e-5 * max(1.0, abs(claimed), abs(measured))
    assert abs(claimed - measured) <= tolerance, (
        f"{op.name} {_shapes(case)}: {what} {claimed:.10g}, "
        f"differences say {measured:.10g}"
    )


def vocabulary_cases(among: Sequence[DType] = DTYPES) -> Iterator[tuple[Op, DType]]:
    """Every op in every dtype it is proven in."""
    from dovetail.core.op import declared

    for op in declared():
        for dtype in dtypes_of(op, among):
            yield op, dtype
