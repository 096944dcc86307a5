"""Operators of wrongness: numbers, arguments, and what is remembered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from tests.meta.mutants.mutant import Fault, Run
from tests.meta.mutants.operators import (
    Array,
    Attrs,
    Natives,
    computes,
    gives_new,
    inexact,
    on_a_number,
    on_inputs,
    on_results,
    operator,
    results,
    takes_tensors,
    written,
)

from dovetail.engine.op import Op

# ---- values


@operator(computes)
def loses_nan(op: Op, number: int) -> Fault:
    """NaN becomes 0."""
    return on_results(lambda y: written(y, np.isnan(y), 0) if inexact(y) else y)


@operator(computes)
def loses_infinity(op: Op, number: int) -> Fault:
    """Infinities become large numbers."""

    def finite(y: Array) -> Array:
        if not inexact(y) or y.dtype.kind == "c":
            return y
        return written(y, np.isposinf(y), ml_dtypes.finfo(y.dtype).max)

    return on_results(finite)


@operator(lambda op: gives_new(op) and any(d.is_inexact for d in op.accepts))
def loses_zero_signs(op: Op, number: int) -> Fault:
    """-0 becomes 0."""
    return on_results(lambda y: y + y.dtype.type(0) if inexact(y) else y)


@operator(computes)
def biased(op: Op, number: int) -> Fault:
    """Off by one part in some thousands."""
    by = (1e-4, -2e-4, 1e-3, -3e-5)[number % 4]

    def more(y: Array) -> Array:
        return np.asarray(y * (1 + by)).astype(y.dtype) if inexact(y) else y

    return on_results(more)


def _narrow(dtype: Any) -> Callable[[Array], Array]:
    def through(a: Array) -> Array:
        if not inexact(a) or a.dtype.kind == "c":
            return a
        return a.astype(dtype).astype(a.dtype)

    return through


@operator(computes)
def computes_in_bfloat16(op: Op, number: int) -> Fault:
    """Results have eight bits, whatever their dtype."""
    return on_results(_narrow(ml_dtypes.bfloat16))


@operator(computes)
def inputs_in_float16(op: Op, number: int) -> Fault:
    """Inputs are rounded to float16 first."""
    return on_inputs(_narrow(np.float16))


@operator(computes)
def doubles_in_float32(op: Op, number: int) -> Fault:
    """float64 is computed in float32."""
    return on_results(_narrow(np.float32))


def _counts(op: Op) -> bool:
    return gives_new(op) and any(d.category == 1 for d in op.accepts)


@operator(_counts)
def integers_through_float32(op: Op, number: int) -> Fault:
    """Integers beyond 2^24 lose bits on their way."""

    def through(a: Array) -> Array:
        if a.dtype.kind not in "iu":
            return a
        with np.errstate(all="ignore"):
            return a.astype(np.float32).astype(a.dtype)

    return on_inputs(through)


@operator(lambda op: op.name in ("add", "sub", "mul", "sum", "cumsum", "prod", "neg"))
def saturates(op: Op, number: int) -> Fault:
    """Integers that overflow stay at the largest number."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = np.asarray(run(*natives, **attrs))
        if y.dtype.kind not in "iu" or y.dtype.itemsize == 8:
            return y
        wide = [a.astype(np.int64) for a in natives]
        attrs = {k: v for k, v in attrs.items() if k != "dtype"}
        true = np.asarray(run(*wide, **attrs, **_dtype(attrs)))
        info = np.iinfo(y.dtype)
        return np.clip(true, info.min, info.max).astype(y.dtype)

    return fault


def _dtype(attrs: Attrs) -> Attrs:
    return {"dtype": None} if "dtype" in attrs else {}


@operator(gives_new)
def result_of_another_dtype(op: Op, number: int) -> Fault:
    """The native result is not of the dtype that the op says."""
    other = {
        np.dtype(bool): np.uint8, np.dtype("int64"): np.int32,
        np.dtype("int32"): np.int64, np.dtype("float16"): np.float32,
        np.dtype("float32"): np.float64, np.dtype("float64"): np.float32,
    }  # fmt: skip

    def cast(y: Array) -> Array:
        return y.astype(other.get(y.dtype, y.dtype))

    return on_results(cast)


# ---- arguments


def _has_attributes(op: Op) -> bool:
    return any(p.role == "attr" and p.name != "kind" for p in op.rest)


@operator(_has_attributes)
def ignores_an_attribute(op: Op, number: int) -> Fault:
    """An attribute is what it was in the first call of all."""
    names = [p.name for p in op.statics if p.name != "kind"]
    name = names[number % len(names)]
    seen: list[Any] = []

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        if name in attrs:
            seen.append(attrs[name])
            attrs = {**attrs, name: seen[0]}
        return run(*natives, **attrs)

    return fault


@operator(lambda op: any(p.name == "keepdim" for p in op.rest))
def forgets_keepdim(op: Op, number: int) -> Fault:
    """Reduced dims always vanish."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        return run(*natives, **{**attrs, "keepdim": False})

    return fault


@operator(lambda op: bool(op.scalars))
def ignores_a_scalar(op: Op, number: int) -> Fault:
    """A number is taken for another one."""
    return on_a_number(op, number, lambda x: type(x)(1))


@operator(lambda op: len(op.outputs) > 1)
def wrong_second_result(op: Op, number: int) -> Fault:
    """What a call gives beside its first result belongs to the element before."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        first, *others = run(*natives, **attrs)
        return (first, *[np.array(np.roll(np.asarray(o), 1)) for o in others])

    return fault


@operator()
def raises_for_a_dtype(op: Op, number: int) -> Fault:
    """One of the dtypes that the kernel says it takes, it does not."""
    taken = sorted(d.name for d in op.accepts)
    dtype = taken[number % len(taken)]

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        arrays = [a for a in natives if isinstance(a, np.ndarray)]
        if arrays and arrays[0].dtype.name == dtype:
            raise TypeError(f"no instantiation for {dtype}")
        return run(*natives, **attrs)

    return fault


# ---- time


@operator(lambda op: takes_tensors(op) and gives_new(op))
def stale_cache(op: Op, number: int) -> Fault:
    """Results are remembered by shape, and given again every so often."""
    last: dict[Any, Any] = {}
    calls = [0]
    every = 2 + number % 2

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        calls[0] += 1
        if not isinstance(y, np.ndarray):
            return y
        key = (y.shape, y.dtype, repr(sorted(attrs.items(), key=repr)))
        if calls[0] % every == 0 and key in last:
            return np.array(last[key])
        last[key] = np.array(y)
        return y

    return fault


@operator(lambda op: op.sums and gives_new(op))
def accumulates_in_half(op: Op, number: int) -> Fault:
    """Sums of float32 and float16 are added up in float16."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        return results(y, _narrow(np.float16))

    return fault


@operator(lambda op: op.sums and takes_tensors(op))
def skips_every_many(op: Op, number: int) -> Fault:
    """Of long rows, one element in many does not count."""
    step = (33, 64, 100)[number % 3]

    def thinned(a: Array) -> Array:
        if a.ndim and a.shape[-1] > step and (inexact(a) or a.dtype.kind in "iu"):
            return written(a, (..., slice(step, None, step)), 0)
        return a

    return on_inputs(thinned)
