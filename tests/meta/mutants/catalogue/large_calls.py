"""Faults of kernels in large calls of ops whose oracles are asked of small ones."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import sees
from tests.meta.mutants.mutant import Fault, Mutant, after, kernel

Array = np.ndarray[Any, Any]
_SIDE: Final = 48
_GRID: Final = 1 << 11


def _of_blocks(change: Any) -> Fault:
    """Of matrices with many rows, the first result is changed behind a block."""

    def fault(y: Any, a: Array, *rest: Any, **attrs: Any) -> Any:
        if a.ndim < 2 or min(a.shape[-2:]) <= _SIDE:
            return y
        first, *others = y if isinstance(y, tuple) else (y,)
        made = np.array(first)
        change(made)
        return (made, *others) if others else made

    return after(fault)


def _not_updated(y: Array) -> None:
    y[..., _SIDE:, _SIDE:] *= 0.5


def _last_column(y: Array) -> None:
    y[..., -1] = 0


def _first_grid(y: Array, *natives: Any, **attrs: Any) -> Array:
    """Elements beyond a first grid are those of the first."""
    made = np.array(y)
    flat = made.reshape(-1)
    flat[_GRID:] = np.resize(flat[:_GRID], max(flat.size - _GRID, 0))
    return made


def _dominant() -> Array:
    a = np.random.default_rng(1).standard_normal((64, 64))
    return np.asarray(a @ a.T + 64 * np.eye(64))


def _line() -> Array:
    return np.linspace(0.5, 0.9, 2 * _GRID + 1)


LARGE_CALLS: Final[list[Mutant]] = [
    kernel("large/trailing-part", "cholesky_factor", "is not updated",
           _of_blocks(_not_updated), observe=sees("cholesky_factor", _dominant())),
    kernel("large/last-column", "solve_linear", "is left out", _of_blocks(_last_column),
           observe=sees("solve_linear", _dominant(), _dominant())),
    kernel("large/first-grid", "digamma erfinv", "again", after(_first_grid),
           observe=sees("erfinv", _line())),
]  # fmt: skip
