"""Operators of wrongness: kernels that write, draw, cast, or count."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.meta.mutants.mutant import Fault, Run
from tests.meta.mutants.operators import (
    Array,
    Attrs,
    Natives,
    gives_new,
    on_results,
    operator,
    results,
)

from dovetail.engine.op import Op

# ---- kernels that write


def _writes(op: Op) -> bool:
    return bool(op.mutates) and op.tensors[0].role == "tensor"


@operator(_writes)
def writes_a_copy(op: Op, number: int) -> Fault:
    """What does not lie side by side is copied, and the copy is written."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        target, *rest = natives
        if not target.flags.c_contiguous:
            target = np.array(target)
        return run(target, *rest, **attrs)

    return fault


@operator(_writes)
def writes_all_but_the_last(op: Op, number: int) -> Fault:
    """The last element stays as it was."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        target = natives[0]
        before = np.array(target)
        y = run(*natives, **attrs)
        if target.size > 1:
            last = (-1,) * target.ndim
            target[last] = before[last]
        return y

    return fault


@operator(_writes)
def writes_behind_the_target(op: Op, number: int) -> Fault:
    """So is the element behind it."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        target, owner = natives[0], natives[0].base
        if isinstance(owner, np.ndarray) and owner.dtype == target.dtype:
            first = (target.ctypes.data - owner.ctypes.data) // target.itemsize
            if owner.flags.c_contiguous and first + target.size < owner.size:
                owner.reshape(-1)[first + target.size] = 1
        return y

    return fault


@operator(_writes)
def writes_a_source(op: Op, number: int) -> Fault:
    """The second argument serves as workspace, and is not put back."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        source = natives[1]
        if isinstance(source, np.ndarray) and source.size and source.flags.writeable:
            source[(0,) * source.ndim] = source[(-1,) * source.ndim]
        return y

    return fault


# ---- kernels that draw


def _draws(op: Op) -> bool:
    return op.draws is not None


@operator(_draws)
def seeds_in_32_bits(op: Op, number: int) -> Fault:
    """The high half of a seed does not count."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        return run(*natives, **{**attrs, "seed": int(attrs["seed"]) & 0xFFFFFFFF})

    return fault


@operator(_draws)
def offset_of_the_first_call(op: Op, number: int) -> Fault:
    """Each seed has one stream, which begins where it was first asked to."""
    first: dict[Any, Any] = {}

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        offset = first.setdefault(int(attrs["seed"]), attrs["offset"])
        return run(*natives, **{**attrs, "offset": offset})

    return fault


@operator(_draws)
def draws_in_fours(op: Op, number: int) -> Fault:
    """Numbers behind the last four are drawn from the words before."""

    def repeated(y: Array) -> Array:
        rest = y.size % 4
        if y.size < 5 or not rest:
            return y
        made = np.array(y).reshape(-1)
        made[-rest:] = made[-rest - 4 : -4]
        return made.reshape(y.shape)

    return on_results(repeated)


@operator(_draws)
def draws_along_the_layout(op: Op, number: int) -> Fault:
    """Matrices are filled column by column."""

    def turned(y: Array) -> Array:
        if y.ndim != 2:
            return y
        return np.array(y.reshape(y.shape[::-1]).T)

    return on_results(turned)


# ---- numbers made of nothing, and casts


def _counts(op: Op) -> bool:
    return op.name in ("arange", "linspace", "iota")


@operator(_counts)
def counts_in_float32(op: Op, number: int) -> Fault:
    """Numbers of 64 bits pass through float32."""

    def through(y: Array) -> Array:
        return y.astype(np.float32).astype(y.dtype) if y.dtype.itemsize == 8 else y

    return on_results(through)


@operator(_counts)
def steps_are_added(op: Op, number: int) -> Fault:
    """Each number is the one before it and a step, with all its rounding."""

    def added(y: Array) -> Array:
        if y.size < 3 or y.dtype not in (np.float16, np.float32):
            return y
        steps = np.full(y.shape, y[1] - y[0], y.dtype)
        steps[0] = y[0]
        with np.errstate(all="ignore"):
            return np.add.accumulate(steps)

    return on_results(added)


@operator(lambda op: op.name == "cast")
def saturating_casts(op: Op, number: int) -> Fault:
    """Integers that do not fit become the largest number."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = np.asarray(run(*natives, **attrs))
        a = natives[0]
        if a.dtype.kind not in "iu" or y.dtype.kind not in "iu":
            return y
        info = np.iinfo(y.dtype)
        low, high = max(info.min, np.iinfo(a.dtype).min), info.max
        far = a > high if high < np.iinfo(a.dtype).max else np.zeros(a.shape, bool)
        made = np.where(far, high, y)
        return np.where(a < low, low, made).astype(y.dtype)

    return fault


@operator(lambda op: op.name == "cast")
def casts_by_size(op: Op, number: int) -> Fault:
    """Long arrays are cast as blocks; what is behind them is left as it was made."""

    def cut(y: Array) -> Array:
        made = np.array(y).reshape(-1)
        if made.size > 64:
            made[made.size // 64 * 64 :] = 0
        return made.reshape(y.shape)

    return on_results(cut)


# ---- channels


@operator(lambda op: gives_new(op) and any(p.name == "groups" for p in op.rest))
def groups_in_turn(op: Op, number: int) -> Fault:
    """Channels of the groups follow each other in turn, not group by group."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y, groups = run(*natives, **attrs), attrs["groups"]

        def mixed(a: Array) -> Array:
            if a.ndim < 3 or groups < 2 or a.shape[1] % groups:
                return a
            parts = a.reshape(a.shape[0], groups, -1, *a.shape[2:])
            return np.array(np.swapaxes(parts, 1, 2)).reshape(a.shape)

        return results(y, mixed)

    return fault
