"""How inputs are moved to see how far that moves a result: parts of themselves.

Each takes a generator of random numbers, the size of the part, and the input.
"""

from __future__ import annotations

import numpy as np

from dovetail.conformance.oracle import wide
from dovetail.dtypes import Array, from_numpy


def apart(random: np.random.Generator, step: float, a: Array) -> Array:
    """Each element moved by up to a part of itself; of complex ones each component."""
    if a.dtype.kind == "c":
        made = np.empty(a.shape, a.dtype)
        made.real = apart(random, step, a.real)
        made.imag = apart(random, step, a.imag)
        return made
    # Of different sizes: equal ones cancel where products are subtracted.
    move = random.choice([-1.0, 1.0], a.shape) * random.uniform(0.5, 1.0, a.shape)
    return moved_by(a, step * move)


def by_row(random: np.random.Generator, step: float, a: Array) -> Array:
    """As `apart`, and all elements along the last dim by the same part."""
    rows = (*a.shape[:-1], 1) if a.ndim else ()
    move = random.choice([-1.0, 1.0], rows) * random.uniform(0.5, 1.0, rows)
    return moved_by(a, step * move)


def comes_again(a: Array) -> bool:
    """Whether an array holds a number twice, beside 0, which no move changes."""
    if not from_numpy(a.dtype).is_inexact:
        return False
    values = wide(a[a != 0])
    return bool(np.unique(values).size < values.size)


def alike(random: np.random.Generator, step: float, a: Array) -> Array:
    """As `apart`, and equal elements by the same."""
    values, places = np.unique(a, return_inverse=True)
    return apart(random, step, values)[places.reshape(a.shape)]


def moved_by(a: Array, by: Array | float) -> Array:
    """Numbers changed by a part of themselves; the largest can only become less."""
    with np.errstate(all="ignore"):
        moved = a * (1 + by)
        left = np.isinf(moved) & np.isfinite(a)
        return np.asarray(np.where(left, a * (1 - by), moved))
