"""Facts about a device that judges have to know, found by trying."""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.conformance.formats import limits
from dovetail.conformance.subject import Subject
from dovetail.dtypes import FLOAT, Array, DType
from dovetail.engine.tensor import Tensor

KEPT: Final = "kept"
FLUSHED: Final = "flushed"


def subnormals(subject: Subject) -> dict[str, str]:
    """What arithmetic makes of subnormal numbers in each float dtype, for certificates.

    `flushed` if any of a few sums, products and reductions with a subnormal operand or
    result gives 0 where the exact answer is none.
    """
    claimed = sorted((d for d in FLOAT if subject.claims(d)), key=lambda d: d.name)
    return {d.name: FLUSHED if flushes(subject, d) else KEPT for d in claimed}


def flushes(subject: Subject, dtype: DType) -> bool:
    """Whether sums, products or reductions of subnormal numbers become 0."""
    small = _subnormals(dtype)
    x = subject.tensor(small)
    least = np.full(small.shape, limits(dtype).smallest_normal, dtype.numpy)
    behind = np.stack([np.zeros_like(small), small], 1)
    rows, sizes = subject.tensor(behind), subject.tensor(np.abs(behind))
    results = (
        x + 0, x * 1, x + x, subject.tensor(least) * 0.5, rows.sum(1),
        rows.cumsum(1)[:, 1], sizes.amax(1),
    )  # fmt: skip
    return not all(_nonzero(subject, y).all() for y in results)


def _subnormals(dtype: DType) -> Array:
    """Subnormal numbers of both signs, the smallest and the largest among them."""
    smallest = limits(dtype).smallest_subnormal
    count = int(float(limits(dtype).smallest_normal) / float(smallest))
    steps = sorted({1, 2, 3, count // 2, count - 1})
    values = np.array([s * float(smallest) for s in steps])
    return np.concatenate([values, -values]).astype(dtype.numpy)


def _nonzero(subject: Subject, y: Tensor) -> Array:
    """By the bits: the host's own arithmetic may flush, too."""
    got = np.ascontiguousarray(subject.values(y))
    raw = got.view(np.dtype(f"u{got.itemsize}"))
    sign = 1 << (8 * got.itemsize - 1)
    return np.asarray((raw & np.asarray(sign - 1, raw.dtype)) != 0)


def flushed(a: Array, dtype: DType) -> Array:
    """The values as a flushing device sees them: subnormal numbers become 0.

    Signs are kept. Of complex numbers, each part for itself; others are unchanged.
    """
    if not dtype.is_inexact:
        return a
    if dtype.is_complex:
        made = np.empty_like(a)
        made.real, made.imag = flushed(a.real, dtype.real), flushed(a.imag, dtype.real)
        return made
    with np.errstate(invalid="ignore"):  # ml_dtypes warns of NaN
        normal = ~(np.abs(a) < limits(dtype).smallest_normal)
    kept: Array = np.where(normal, a, np.copysign(0, a)).astype(a.dtype)
    return kept
