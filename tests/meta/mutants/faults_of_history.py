"""Operators of wrongness: what an earlier call leaves behind, and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.meta.mutants.mutant import Fault, Run
from tests.meta.mutants.operators import (
    Array,
    Attrs,
    Natives,
    gives_new,
    on_a_number,
    operator,
    results,
    takes_tensors,
)

from dovetail.engine.op import Op


def _arrays(natives: Natives) -> list[Array]:
    many = [a if isinstance(a, list) else [a] for a in natives]
    return [a for part in many for a in part if isinstance(a, np.ndarray)]


def _shapes(natives: Natives) -> Any:
    return tuple((a.shape, a.dtype.str) for a in _arrays(natives))


def _numbers(op: Op) -> bool:
    return any(p.role in ("attr", "scalar") and p.name != "kind" for p in op.rest)


# ---- plans


@operator(lambda op: _numbers(op) and takes_tensors(op))
def plans_by_shape(op: Op, number: int) -> Fault:
    """A kernel is compiled for the attributes that came first with its shapes."""
    plans: dict[Any, Attrs] = {}

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        plan = plans.setdefault(_shapes(natives), dict(attrs))
        try:
            return run(*natives, **{**attrs, **plan})
        except Exception:  # a plan that does not fit is made anew
            return run(*natives, **attrs)

    return fault


@operator(lambda op: bool(op.scalars))
def plans_by_equal_numbers(op: Op, number: int) -> Fault:
    """Numbers that are equal are one: 0.0 is -0.0."""
    plans: dict[Any, Attrs] = {}

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        key = tuple(
            (k, attrs[k]) for k in op.scalars if isinstance(attrs.get(k), float)
        )
        return run(*natives, **{**attrs, **plans.setdefault(key, dict(key))})

    return fault


@operator(takes_tensors)
def plans_by_contiguity(op: Op, number: int) -> Fault:
    """Inputs are read in the order that came first with their shapes."""
    plans: dict[Any, list[bool]] = {}

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        now = [a.flags.c_contiguous for a in _arrays(natives)]
        plan = iter(plans.setdefault(_shapes(natives), now))

        def read(a: Any) -> Any:
            if isinstance(a, list):
                return [read(v) for v in a]
            if not isinstance(a, np.ndarray):
                return a
            turned = next(plan) and a.ndim > 1 and not a.flags.c_contiguous
            return np.array(a).ravel("K").reshape(a.shape) if turned else a

        return run(*[read(a) for a in natives], **attrs)

    return fault


@operator(lambda op: takes_tensors(op) and gives_new(op))
def plans_by_shape_alone(op: Op, number: int) -> Fault:
    """The narrowest format seen with some sizes is that of all later calls."""
    narrowest: dict[Any, np.dtype[Any]] = {}

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        arrays = _arrays(natives)
        key = tuple(a.shape for a in arrays)
        y = run(*natives, **attrs)
        if not arrays or arrays[0].dtype not in (np.float16, np.float32, np.float64):
            return y
        seen = narrowest.get(key, arrays[0].dtype)
        narrowest[key] = min(seen, arrays[0].dtype, key=lambda d: d.itemsize)

        def through(p: Array) -> Array:
            if p.dtype.kind != "f":
                return p
            with np.errstate(all="ignore"):
                return p.astype(narrowest[key]).astype(p.dtype)

        return results(y, through)

    return fault


# ---- what is left behind


@operator(gives_new)
def stale_workspace(op: Op, number: int) -> Fault:
    """The last element of a result smaller than the one before is left from there."""
    before: dict[Any, Array] = {}

    def kept(y: Array) -> Array:
        last = before.get(y.dtype)
        before[y.dtype] = np.array(y).reshape(-1)
        if last is None or last.size <= y.size or not y.size:
            return y
        made = np.array(y).reshape(-1)
        made[-1] = last[made.size - 1]
        return made.reshape(y.shape)

    return lambda run, natives, attrs: results(run(*natives, **attrs), kept)


@operator(lambda op: takes_tensors(op) and gives_new(op))
def cached_by_address(op: Op, number: int) -> Fault:
    """What lies where the input of the last call lay is taken for the same input."""
    last: list[Any] = [None, None]

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        places = [(a.ctypes.data, a.strides) for a in _arrays(natives)]
        key = (places, _shapes(natives), repr(sorted(attrs.items(), key=repr)))
        if last[0] == key:
            return results(last[1], np.array)
        y = run(*natives, **attrs)
        last[:] = [key, results(y, np.array)]
        return y

    return fault


@operator(gives_new)
def second_call(op: Op, number: int) -> Fault:
    """The second call with the same shapes loses the last element."""
    calls: dict[Any, int] = {}

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        key = (_shapes(natives), repr(sorted(attrs.items(), key=repr)))
        calls[key] = calls.get(key, 0) + 1
        y = run(*natives, **attrs)
        return results(y, _without_last) if calls[key] == 2 else y

    return fault


def _without_last(y: Array) -> Array:
    made = np.array(y)
    if made.size:
        made.reshape(-1)[-1] = 0
    return made


@operator(gives_new)
def every_so_many(op: Op, number: int) -> Fault:
    """One call in some is raced: its last element is not there yet."""
    every, calls = (5, 11, 23)[number % 3], [0]

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        calls[0] += 1
        y = run(*natives, **attrs)
        return results(y, _without_last) if not calls[0] % every else y

    return fault


@operator(lambda op: takes_tensors(op) and gives_new(op))
def after_a_larger_call(op: Op, number: int) -> Fault:
    """Once a call was large, small ones are computed for one element too few."""
    large, most = [False], (100, 1000)[number % 2]

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        size = max((a.size for a in _arrays(natives)), default=0)
        y = run(*natives, **attrs)
        large[0] |= size > most
        return results(y, _without_last) if large[0] and size <= most else y

    return fault


@operator(lambda op: takes_tensors(op) and gives_new(op))
def after_an_empty_call(op: Op, number: int) -> Fault:
    """The call behind one without elements is taken for it."""
    empty = [False]

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        was, arrays = empty[0], _arrays(natives)
        empty[0] = any(not a.size for a in arrays)
        y = run(*natives, **attrs)
        return results(y, _without_last) if was and not empty[0] else y

    return fault


# ---- attributes


def _is_pair(value: Any) -> bool:
    whole = isinstance(value, tuple | list) and len(value) > 1
    return whole and all(isinstance(v, int) for v in value)


def _has_attributes(op: Op) -> bool:
    return any(p.role == "attr" and p.name not in ("kind", "shape") for p in op.rest)


@operator(_has_attributes)
def square_windows_only(op: Op, number: int) -> Fault:
    """Of two numbers for two dims the first one counts for both."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        names = [k for k, v in attrs.items() if _is_pair(v) and k.startswith(_STEPS)]
        name = names[number % len(names)] if names else ""
        if not name:
            return run(*natives, **attrs)
        return run(*natives, **{**attrs, name: (attrs[name][0],) * len(attrs[name])})

    return fault


_STEPS = ("stride", "padding", "dilation", "kernel")


@operator(_has_attributes)
def last_dim_only(op: Op, number: int) -> Fault:
    """Whatever the dim, it is the last one where sizes allow it."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        arrays, dim = _arrays(natives), attrs.get("dim")
        if not arrays or not isinstance(dim, int) or isinstance(dim, bool):
            return run(*natives, **attrs)
        shape = arrays[0].shape
        inside = 0 <= dim < len(shape)
        same = inside and shape[dim] == shape[-1]
        return run(*natives, **{**attrs, "dim": len(shape) - 1 if same else dim})

    return fault


@operator(_has_attributes)
def flags_exclude_each_other(op: Op, number: int) -> Fault:
    """Of two flags that are both set the second is forgotten."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        flags = [k for k, v in attrs.items() if v is True]
        if len(flags) > 1:
            attrs = {**attrs, flags[1]: False}
        return run(*natives, **attrs)

    return fault


@operator(lambda op: bool(op.scalars))
def zero_is_no_number(op: Op, number: int) -> Fault:
    """A number that is 0 is taken for one that was not given: for 1."""
    return on_a_number(op, number, lambda x: x if x != 0 else type(x)(1))


@operator(lambda op: bool(op.scalars))
def numbers_are_positive(op: Op, number: int) -> Fault:
    """The sign of a number is lost."""
    return on_a_number(op, number, abs)


@operator(lambda op: bool(op.scalars))
def numbers_in_bfloat16(op: Op, number: int) -> Fault:
    """A number has eight bits."""
    name = op.scalars[number % len(op.scalars)]

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        given = attrs.get(name)
        if isinstance(given, float):
            bits = np.array(given, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
            attrs = {**attrs, name: float(np.array(bits).view(np.float32))}
        return run(*natives, **attrs)

    return fault
