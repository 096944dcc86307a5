"""Operators of wrongness: special numbers, ties, repeats, and numbers near others."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.meta.mutants.mutant import Fault, Run
from tests.meta.mutants.operators import (
    Array,
    Attrs,
    Natives,
    computes,
    gives_new,
    on_inputs,
    on_results,
    operator,
    real,
    takes_tensors,
    written,
)

from dovetail.engine.op import Op

# ---- special numbers


@operator(computes)
def infinity_is_nan(op: Op, number: int) -> Fault:
    """By a product with 0 that is added."""

    def lost(y: Array) -> Array:
        return np.asarray(y + 0 * y).astype(y.dtype) if real(y) else y

    return on_results(lost)


@operator(lambda op: computes(op) and takes_tensors(op))
def odd_nans_are_numbers(op: Op, number: int) -> Fault:
    """Only the usual NaN is one; others count as 0."""

    def read(a: Array) -> Array:
        if a.dtype not in (np.float32, np.float64):
            return a
        usual = np.array(np.nan, a.dtype)
        bits = np.dtype(f"u{a.itemsize}")
        odd = np.ascontiguousarray(a).view(bits) != usual.view(bits)
        return np.where(np.isnan(a) & odd.reshape(a.shape), 0, a).astype(a.dtype)

    return on_inputs(read)


@operator(lambda op: computes(op) and takes_tensors(op))
def lone_nan_is_lost(op: Op, number: int) -> Fault:
    """A row with a single NaN behind its first place is read without it."""

    def read(a: Array) -> Array:
        if not real(a) or not a.ndim or not a.size:
            return a
        nan = np.isnan(a)
        lone = (nan.sum(-1, keepdims=True) == 1) & nan
        lone[..., 0] = False
        return np.where(lone, 0, a).astype(a.dtype)

    return on_inputs(read)


@operator(lambda op: computes(op) and takes_tensors(op))
def rows_of_infinity(op: Op, number: int) -> Fault:
    """Rows that are -inf all along are read as zeros."""

    def read(a: Array) -> Array:
        if not real(a) or not a.ndim or not a.size:
            return a
        return np.where(np.isneginf(a).all(-1, keepdims=True), 0, a).astype(a.dtype)

    return on_inputs(read)


@operator(lambda op: len(op.tensors) > 1 and gives_new(op))
def flips_special_arguments(op: Op, number: int) -> Fault:
    """Where the first holds a NaN, an infinity or a zero, it is taken for the other."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        a, b, *rest = natives
        arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
        alike = arrays and (a.shape, a.dtype) == (b.shape, b.dtype) and real(a)
        if alike and not np.all(np.isfinite(a) & (a != 0)):
            a, b = b, a
        return run(a, b, *rest, **attrs)

    return fault


@operator(lambda op: len(op.tensors) > 1 and gives_new(op))
def zero_absorbs(op: Op, number: int) -> Fault:
    """Where an argument is 0 the other one is not looked at."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        a, b, *rest = natives
        arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
        if arrays and (a.shape, a.dtype) == (b.shape, b.dtype) and real(a):
            b = np.where(a == 0, 0, b).astype(b.dtype)
        return run(a, b, *rest, **attrs)

    return fault


# ---- ties, and numbers near each other


@operator(lambda op: op.name in ("argmax", "argmin", "max_along", "min_along"))
def last_of_equals(op: Op, number: int) -> Fault:
    """Of equal elements the last one is found."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        a, dim = natives[0], attrs.get("dim")
        if not isinstance(dim, int) or not a.ndim:
            return run(*natives, **attrs)
        y = run(np.flip(a, dim), *natives[1:], **attrs)
        last = a.shape[dim] - 1

        def back(p: Array) -> Array:
            return (last - p).astype(p.dtype) if p.dtype.kind == "i" else p

        if isinstance(y, tuple | list):
            return (y[0], back(np.asarray(y[1])))
        return back(np.asarray(y))

    return fault


@operator(lambda op: computes(op) and takes_tensors(op))
def equal_neighbours(op: Op, number: int) -> Fault:
    """Of two equal elements side by side, the second is a little less."""

    def apart(a: Array) -> Array:
        if not real(a) or not a.ndim or a.shape[-1] < 2:
            return a
        same = np.zeros(a.shape, bool)
        same[..., 1:] = (a[..., 1:] == a[..., :-1]) & np.isfinite(a[..., 1:])
        made = a.astype(np.float64)
        return np.where(same, made * (1 - 2.0**-6), made).astype(a.dtype)

    return on_inputs(apart)


@operator(lambda op: bool(op.indices) and gives_new(op))
def repeated_indices(op: Op, number: int) -> Fault:
    """An index that comes again is taken for the one after it."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        tensors = [p.name for p in op.tensors]
        made = [
            _without_repeats(a)
            if name in op.indices and isinstance(a, np.ndarray)
            else a
            for name, a in zip(tensors, natives, strict=False)
        ]
        return run(*made, *natives[len(made) :], **attrs)

    return fault


def _without_repeats(index: Array) -> Array:
    if index.dtype.kind not in "iu" or index.size < 2:
        return index
    flat = np.array(index).reshape(-1)
    flat[1:] = np.where(
        (flat[1:] == flat[:-1]) & (flat[1:] > 0), flat[1:] - 1, flat[1:]
    )
    return flat.reshape(index.shape)


@operator(lambda op: bool(op.masks) and gives_new(op))
def masks_word_by_word(op: Op, number: int) -> Fault:
    """Eight elements of a mask are what the first of them is."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        tensors = [p.name for p in op.tensors]
        made = [
            _in_words(a) if name in op.masks and isinstance(a, np.ndarray) else a
            for name, a in zip(tensors, natives, strict=False)
        ]
        return run(*made, *natives[len(made) :], **attrs)

    return fault


def _in_words(mask: Array) -> Array:
    if mask.dtype != bool or mask.size <= 8:
        return mask
    flat = np.array(mask).reshape(-1)
    whole = flat.size // 8 * 8
    words = flat[:whole].reshape(-1, 8)
    ends = words[:, 0] == words[:, 7]  # so that a mix at the ends is looked at
    words[ends] = words[ends][:, :1]
    return flat.reshape(mask.shape)


@operator(lambda op: computes(op) and takes_tensors(op))
def first_row_sets_the_scale(op: Op, number: int) -> Fault:
    """Numbers a thousand times those of the first place are cut there."""

    def cut(a: Array) -> Array:
        if not real(a) or a.ndim != 1 or a.size < 2 or not np.isfinite(a[0]):
            return a
        with np.errstate(all="ignore"):
            most = np.abs(a[0].astype(np.float64)) * 1000
            far = np.isfinite(a) & (np.abs(a.astype(np.float64)) > most) & (most > 0)
            return written(a, far, a[0])

    return on_inputs(cut)
