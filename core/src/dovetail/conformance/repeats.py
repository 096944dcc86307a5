"""How often the same number comes again among the terms of a sum."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from dovetail.dtypes import Array


def concentration(
    a: Array, terms: int, tiny: float, spare_zeros: bool, *, spread: bool = False
) -> float:
    """The chance that two terms of a sum are equal numbers of an array, at the most.

    Which dims are summed is not known: any of them may be, alone or with others. A row
    along some of them that is shorter than the sum is one of several that make it up.
    One number all along gives 1, n different ones give 1 / n.

    Args:
        terms: how many numbers are summed.
        tiny: numbers below it count as 0.
        spare_zeros: whether zeros are equal to nothing.
        spread: whether fewer numbers than are summed are given several times each.
    """
    if not a.size:
        return 0.0
    with np.errstate(all="ignore"):
        a = np.where(np.abs(a) < tiny, 0, a)
    terms = min(terms, a.size) if spread else terms
    return max(_in_rows(rows, terms, spare_zeros) for rows in _rows(a))


def _rows(a: Array) -> Iterator[Array]:
    """The array as rows along each choice of its dims, all of them first."""
    a = a.reshape([n for n in a.shape if n > 1])
    yield a.reshape(1, -1)
    for count in range(1, a.ndim):
        for dims in itertools.combinations(range(a.ndim), count):
            length = math.prod(a.shape[dim] for dim in dims)
            yield np.moveaxis(a, dims, range(-count, 0)).reshape(-1, length)


def _in_rows(rows: Array, terms: int, spare_zeros: bool) -> float:
    length = rows.shape[1]
    ordered = np.sort(rows, axis=1)
    starts = np.ones(rows.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.flatnonzero(starts)
    lengths = np.diff(first, append=rows.size).astype(np.float64)
    zeros = spare_zeros & (ordered.reshape(-1)[first] == 0)
    equal = np.where(zeros, lengths, lengths**2)
    pairs = np.bincount(first // length, equal)
    most = float(np.max(pairs))
    return most / float(length * max(length, terms))
