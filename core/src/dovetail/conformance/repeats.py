"""How often the same number comes again in a row of an array."""

from __future__ import annotations

import numpy as np

from dovetail.dtypes import Array


def concentration(a: Array, tiny: float, spare_zeros: bool) -> float:
    """The chance that two places of one row hold equal numbers, of all rows the most.

    Rows are those along any dim, and the array as a whole: which of them are summed is
    not known. One number all along gives 1, n different ones give 1 / n.

    Args:
        tiny: numbers below it count as 0.
        spare_zeros: whether zeros are equal to nothing.
    """
    if not a.size:
        return 0.0
    with np.errstate(all="ignore"):
        a = np.where(np.abs(a) < tiny, 0, a)
    rows = [np.moveaxis(a, dim, -1).reshape(-1, n) for dim, n in enumerate(a.shape)]
    return max(_in_rows(r, spare_zeros) for r in (*rows, a.reshape(1, -1)))


def _in_rows(rows: Array, spare_zeros: bool) -> float:
    ordered = np.sort(rows, axis=1)
    starts = np.ones(rows.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.flatnonzero(starts)
    lengths = np.diff(first, append=rows.size).astype(np.float64)
    zeros = spare_zeros & (ordered.reshape(-1)[first] == 0)
    equal = np.where(zeros, lengths, lengths**2)
    pairs = np.bincount(first // rows.shape[1], equal)
    return float(np.max(pairs)) / float(rows.shape[1] ** 2)
