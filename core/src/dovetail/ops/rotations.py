"""Jacobi's rotations, and the order and phases of the vectors that they find."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dovetail.dtypes import Array, int32
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.ops.arithmetic import sqrt
from dovetail.ops.complex import imag
from dovetail.ops.diagonal import diag_embed, diagonal
from dovetail.ops.elementwise import abs, sgn
from dovetail.ops.extremes import amax, argmax
from dovetail.ops.formats import cast, conj, iota, take_along, where
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import (
    identity,
)
from dovetail.ops.qr import real_of
from dovetail.ops.row_orders import unmoved
from dovetail.ops.sums import sum
from dovetail.ops.view import basic_index, expand, unsqueeze

_NEAR: Final = 1e-3  # in the samples: what is nearer is not told apart in float32


def rounds_of_pairs(n: int) -> list[list[tuple[int, int]]]:
    """Every pair of 0 … n-1 once, in rounds whose pairs are apart: a tournament."""
    players = list(range(n + n % 2))
    rounds = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        pairs = zip(players[:half], reversed(players[half:]), strict=True)
        rounds.append([(min(p), max(p)) for p in pairs if max(p) < n])
        players = [players[0], players[-1], *players[1:-1]]
    return rounds


def sweeps(n: int) -> int:
    """How many rounds of all pairs: each doubles the digits, once some are right."""
    return 2 if n < 3 else 3 + n.bit_length()  # of one pair the first is exact


def partners(pairs: list[tuple[int, int]], of: Tensor) -> tuple[Tensor, Tensor]:
    """Who is paired with each column; -1 for the first of a pair, 1 for the other."""
    n = of._a.shape[-1]
    k = iota(n, of._kind.with_dtype(int32))
    partner, side = k, k * 0
    for p, q in pairs:
        partner = where(k == p, q, where(k == q, p, partner))
        side = where(k == p, -1, where(k == q, 1, side))
    return partner, side


def rotation(gram: Tensor, partner: Tensor, side: Tensor) -> Tensor:
    """What makes the pairs of a Hermitian matrix 0 (Golub and Van Loan 2013, 8.5)."""
    shape = tuple(gram._a.shape)
    n, lead = shape[-1], shape[:-2]
    at = expand(partner, (*lead, 1, n))
    paired = basic_index(take_along(gram, at, len(lead)), (Ellipsis, 0, slice(None)))
    own = real_of(diagonal(gram, 0, -2, -1))
    other = take_along(own, expand(partner, (*lead, n)), len(lead))
    size = abs(paired)
    still = (size == 0) | (side == 0)
    tau = (own - other) * cast(side, own.dtype) / where(still, 1, size * 2)
    t = where(tau < 0, -1, 1) / (abs(tau) + sqrt(1 + tau * tau))
    t = where(still, 0, t)
    c = 1 / sqrt(1 + t * t)
    s = cast(c * t * cast(side, own.dtype), gram.dtype) * sgn(paired)
    rows = expand(unsqueeze(partner, -1), (n, n))
    exchange = take_along(identity(n, gram._kind), rows, 0)
    return diag_embed(cast(c, gram.dtype)) + matmul(exchange, diag_embed(s))


def order_of(w: Tensor, descending: bool = False) -> Tensor:
    """Where numbers come from when they are sorted, by counting those before each.

    The matrix that they are of is as large as what is counted.
    """
    k = iota(w._a.shape[-1], w._kind.with_dtype(int32))
    own, other = unsqueeze(w, -1), unsqueeze(w, -2)
    before = other > own if descending else other < own
    before = before | ((other == own) & (unsqueeze(k, 0) < unsqueeze(k, 1)))
    return unmoved(cast(sum(cast(before, w.dtype), -1), int32))


def ordered(x: Tensor, order: Tensor) -> Tensor:
    """The columns of matrices in another order."""
    at = expand(unsqueeze(order, -2), tuple(x._a.shape))
    return take_along(x, at, x.ndim - 1)


def phases(v: Tensor) -> Tensor:
    """What turns each column so that its first large number is positive."""
    return conj(sgn(take_along(v, _first(v), v.ndim - 2)))


def _first(v: Tensor) -> Tensor:
    """Where the first large number of each column is."""
    size = abs(v)
    large = size * 2 >= amax(size, -2, True)
    return cast(argmax(cast(large, int32), -2, True), int32)


def with_phases_held(g: Tensor | None, v: Tensor, turning: Tensor) -> Tensor:
    """The gradient of vectors whose phase is held: the first large number stays real.

    What turns them, `turning` for each, is taken back by as much as that number is
    turned; of what does not depend on phases, nothing is.
    """
    if 0 in v._a.shape[-2:]:
        return v if g is None else g
    at = _first(v)
    back = turning / real_of(take_along(v, at, v.ndim - 2))
    rows = unsqueeze(iota(v._a.shape[-2], at._kind), -1)
    held = where(rows == at, cast(back, v.dtype) * 1j, 0)
    return held if g is None else g + held


def turning_of(g: Tensor | None, v: Tensor) -> Any:
    """By how much a turn of each vector changes what the gradient is of."""
    return 0 if g is None else imag(sum(conj(g) * v, -2, True))


def phases_of(v: Array) -> Array:
    size = np.abs(v)
    at = np.argmax(size * 2 >= size.max(-2, keepdims=True), -2, keepdims=True)
    first = np.take_along_axis(v, at, -2)
    return np.asarray(np.conj(first) / np.abs(first))


def inverse_gaps(w: Tensor) -> Tensor:
    """1 / (w_j - w_i), and 0 on the diagonal."""
    gap = unsqueeze(w, -2) - unsqueeze(w, -1)
    main = identity(w._a.shape[-1], w._kind)
    return (1 - main) / (gap + main)


def refuse_near(name: str, values: Array) -> None:
    """Refuse what has no one answer: vectors of values that are equal."""
    gaps = np.abs(np.diff(values, axis=-1))
    if gaps.size and gaps.min() <= _NEAR * np.abs(values).max():
        raise ArgumentError(name, "input", was="degenerate", needed="values apart")
