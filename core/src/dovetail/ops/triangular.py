"""Systems of equations whose matrix is triangular: substitution."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import Array
from dovetail.engine import signature as sig
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.create import zeros_of
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import OF_LAPACK, adjoint, regular
from dovetail.ops.primitive import clone
from dovetail.ops.shape import cat, tril, triu
from dovetail.ops.sums import sum_to
from dovetail.ops.view import basic_index, expand

_ROWS = (Ellipsis,)


def _rows(x: Tensor, start: int, stop: int) -> Tensor:
    return basic_index(x, (*_ROWS, slice(start, stop), slice(None)))


def _part(x: Tensor, row: int, start: int, stop: int) -> Tensor:
    return basic_index(x, (*_ROWS, slice(row, row + 1), slice(start, stop)))


def _triangle(x: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    off = int(unitriangular)
    return triu(x, off) if upper else tril(x, -off)


def _through_matrix(
    ct: Tensor, input: Tensor, y: Tensor, upper: bool, unitriangular: bool
) -> Tensor:
    back = solve_triangle(adjoint(input), ct, not upper, unitriangular)
    whole = _triangle(-matmul(back, adjoint(y)), upper, unitriangular)
    return sum_to(whole, tuple(input._a.shape))


def _through_right(
    ct: Tensor, input: Tensor, other_shape: Any, upper: bool, unitriangular: bool
) -> Tensor:
    back = solve_triangle(adjoint(input), ct, not upper, unitriangular)
    return sum_to(back, other_shape)


def _substituted(
    a: Array, b: Array, upper: bool = False, unitriangular: bool = False
) -> Array:
    part = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        n = a.shape[-1]
        part = part * (1 - np.eye(n)) + np.eye(n)
    lead = np.broadcast_shapes(part.shape[:-2], b.shape[:-2])
    wide = np.broadcast_to(part, lead + part.shape[-2:])
    return np.asarray(np.linalg.solve(wide, np.broadcast_to(b, lead + b.shape[-2:])))


def _cases(make: Any) -> Any:
    for upper in (False, True):
        yield _call(make, (3, 3), (3, 2), upper, False)
        yield _call(make, (2, 1, 3, 3), (4, 3, 2), upper, True)
    yield _call(make, (1, 1), (1, 4), False, False)


def _call(make: Any, a: Any, b: Any, upper: bool, unitriangular: bool) -> Case:
    x = regular(make, *a)
    x = np.asarray(x + 4 * np.eye(x.shape[-1])).astype(x.dtype)
    return case(x, make(*b), upper, unitriangular)


@op(shape="(n,n),(n,k)->(n,k)", **OF_LAPACK, oracle=_substituted, cases=_cases,
    grad={"input": _through_matrix, "other": _through_right})  # fmt: skip
def solve_triangle(
    input: Tensor, other: Tensor, upper: bool = False, unitriangular: bool = False
) -> Tensor:
    """The X of `input` @ X = `other`, where one triangle of `input` counts.

    With `unitriangular`, its diagonal counts as ones. A zero on it is divided by.
    """
    a, b = tuple(input._a.shape), tuple(other._a.shape)
    lead = sig.broadcast("solve_triangle", (a[:-2], b[:-2]), ("input", "other"))
    n, shape = a[-1], (*lead, *b[-2:])
    if not n:
        return zeros_of(other, shape)
    right: Tensor = expand(other, shape)
    known: Tensor | None = None
    for i in reversed(range(n)) if upper else range(n):
        row = _rows(right, i, i + 1)
        if known is not None:
            start, stop = (i + 1, n) if upper else (0, i)
            row = row - matmul(_part(input, i, start, stop), known)
        row = row if unitriangular else row / _part(input, i, i, i + 1)
        if known is None:
            known = row
        else:
            known = cat([row, known] if upper else [known, row], -2)
    assert known is not None
    # One row over a diagonal of ones is that of `other`, in its memory.
    return clone(known) if unitriangular and n == 1 else known
