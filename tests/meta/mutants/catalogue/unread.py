"""Faults of kernels that choose by arithmetic: what is left out counts times nothing.

As long as all numbers are finite they are right.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, sees
from tests.meta.mutants.mutant import Mutant, Run, kernel

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def _spoilt(y: Any, left_out: Any) -> Any:
    """A sum with products of nothing and what was left out."""
    y = np.asarray(y)
    if y.dtype.kind not in "fc":
        return y
    with np.errstate(all="ignore"):
        return (y + np.asarray(left_out, y.dtype) * y.dtype.type(0)).astype(y.dtype)


def _by_both(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of two branches, one is taken times 1 and the other one times 0."""
    condition, a, b = natives
    return _spoilt(run(*natives, **attrs), np.where(condition, b, a))


def _by_mask(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """What is replaced is multiplied by 0, and then added to."""
    y = run(*natives, **attrs)
    return _spoilt(y, natives[0]) if np.shape(y) == np.shape(natives[0]) else y


def _by_one_hot(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Rows are picked by a product with rows of one 1 and zeros."""
    y, a = run(*natives, **attrs), natives[0]
    dim = attrs.get("dim", 0)
    if not np.ndim(a) or not np.size(a):
        return y
    whole = np.sum(np.asarray(a), dim, keepdims=True, dtype=np.asarray(a).dtype)
    fits = np.ndim(y) == np.ndim(a)
    return _spoilt(y, whole) if fits else _spoilt(y, whole.reshape(-1, a.shape[-1])[0])


def _with_what_it_replaces(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The difference is added to what is there."""
    y, a = np.asarray(run(*natives, **attrs)), np.asarray(natives[0])
    with np.errstate(all="ignore"):
        return a + (y - a) if y.dtype.kind in "fc" and y.shape == a.shape else y


_ROWS: Final = np.array([[1, 2], [np.nan, 3], [4, 5]], F32)
_MASK: Final = np.array([[False, False], [True, False], [False, False]])
_PICKED: Final = np.array([2, 0])

UNREAD: Final[list[Mutant]] = [
    kernel("unread/both-branches", "where", "count", _by_both,
           observe=sees("where", _MASK, np.ones((3, 2), F32), _ROWS)),
    kernel("unread/mask-of-factors", "masked_fill tril triu", "is multiplied by",
           _by_mask, observe=sees("masked_fill", _ROWS, _MASK, 7.0)),
    kernel("unread/one-hot-rows", "index_select embedding", "pick others",
           _by_one_hot, observe=sees("index_select", _ROWS, 0, _PICKED)),
    kernel("unread/differences", "scatter index_copy", "are added to what is there",
           _with_what_it_replaces,
           observe=sees("scatter", _ROWS, 0, np.array([[0, 0], [1, 1]]),
                        np.ones((2, 2), F32))),
]  # fmt: skip
