"""Two results of one call beside each other: what one device says in two ways."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from dovetail.conformance.compare import exactly, within
from dovetail.conformance.law import Trial, Wrong
from dovetail.conformance.left_open import left_open
from dovetail.conformance.tolerance import bound
from dovetail.dtypes import Array, DType
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor


def judged(trial: Trial) -> tuple[Op, DType]:
    """The op and dtype of a trial of an op."""
    assert trial.op is not None
    assert trial.dtype is not None
    return trial.op, trial.dtype


def named(op: Op, at: int) -> str:
    """What a result is called in messages."""
    names = (*op.mutates, *op.outputs)
    return names[at] if at < len(names) else f"result {at}"


def agree(
    trial: Trial, got: Sequence[Array], want: Sequence[Array],
    dtypes: Sequence[DType], *, share: float = 1.0, note: str = "",
) -> None:  # fmt: skip
    """Both are the truth within what is allowed, so they differ by little.

    Args:
        share: of what the op is allowed beside its oracle.
        note: what `got` is, for the message.
    """
    op, dtype = judged(trial)
    if len(got) != len(want):
        raise Wrong(f"{note}{len(got)} results, needed {len(want)}")
    for at, (a, b, out) in enumerate(zip(got, want, dtypes, strict=True)):
        name = note + named(op, at)
        if a.shape != b.shape:
            raise Wrong(f"{name} is of shape {a.shape}, needed {b.shape}")
        if (op.unrounded and not op.scalars) or not out.is_inexact:
            exactly(name, a, b)
            continue
        if np.all((a == b) | (np.isnan(a) & np.isnan(b))):
            continue
        allowed = bound(op, trial.example, dtype, at, out)
        wide = b.astype(np.complex128 if out.is_complex else np.float64)
        excuse = partial(_left_open, trial, at, (a, b), out)
        within(name, a, wide, allowed.times(share), out, excuse)


def _left_open(
    trial: Trial, at: int, either: tuple[Array, Array], dtype: DType
) -> Array:
    """Where one of two answers left the format as the definition does."""
    a, b = either
    return left_open(trial, at, a, dtype) | left_open(trial, at, b, dtype)


def arrays(trial: Trial, results: Sequence[Tensor]) -> list[Array]:
    """The values of every result, in the dtype and shape that it says it has."""
    found = [trial.subject.values(y) for y in results]
    for at, (y, a) in enumerate(zip(results, found, strict=True)):
        if a.dtype != y.dtype.numpy or a.shape != tuple(y.shape):
            raise Wrong(
                f"result {at} is {y.dtype.name}{list(y.shape)}, in memory it is "
                f"{a.dtype.name}{list(a.shape)}"
            )
    return found


def same_computed(name: str, got: Array, want: Array) -> None:
    """Equal bit for bit, but in NaN.

    Which one of two operands a NaN is handed on from is left open (IEEE 754, 6.2.3).
    """
    same_bits(name, *map(_of_one_nan, (got, want)))


def _of_one_nan(a: Array) -> Array:
    found = np.array(a, order="C")
    parts = found.reshape(-1).view(found.real.dtype)
    odd = np.isnan(parts)
    if odd.any():  # never of integers
        parts[odd] = np.nan
    return found


def same_bits(name: str, got: Array, want: Array) -> None:
    """Equal bit for bit: -0 is not 0, and one NaN is not another."""
    if got.tobytes() != want.tobytes():
        exactly(name, got, want)
        raise Wrong(f"{name} has other bits: a signed zero, or the payload of a NaN")
