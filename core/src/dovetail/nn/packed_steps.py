"""Packed sequences as a whole layer takes them: with a step for each, to the longest.

Steps behind the end of a sequence see zeros; nothing of what they give is looked at, so
that their gradients are zeros. Sequences that are read backwards are turned, each by
itself, so that all begin at the first step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor

# How many times as many steps as there are rows a layer may have: always, and where
# that is sooner done, for memory has to hold them.
_FEW: Final = 2
_MOST: Final = 8
# Products that take as long as what a step alone costs besides its own.
_OF_A_STEP: Final = 1_500_000

Array = np.ndarray[Any, Any]


class Places(NamedTuple):
    """Where rows go among steps, and back.

    Attributes:
        steps, sequences: steps of the longest sequence, and how many there are.
        rows: by step and sequence, its row; behind the end, the one after all rows.
        places: by row, its step and sequence.
        ends: by sequence, its last step and the sequence.
    """

    steps: int
    sequences: int
    rows: Array
    places: Array
    ends: Array


def is_worth_a_layer(batch: Sequence[int], products: int) -> bool:
    """Whether a step for each, to the longest, is sooner done than steps one by one.

    Args:
        batch: how many sequences have each step.
        products: in a step of a sequence.
    """
    padded, rows = len(batch) * batch[0], sum(batch)
    more = (padded - rows) * products
    if padded <= _FEW * rows:
        return True
    return padded <= _MOST * rows and more <= len(batch) * _OF_A_STEP


def places_of(batch: Sequence[int], reverse: bool) -> Places:
    """Where rows go; in a reversed layer from the end of each sequence on."""
    sizes = np.array(batch)
    steps, count = len(sizes), batch[0]
    step, sequence = np.indices((steps, count))
    lengths = (sizes[:, None] > np.arange(count)).sum(0)
    there = step < lengths
    time = np.where(there, lengths - 1 - step, 0) if reverse else step
    starts = np.cumsum(sizes) - sizes
    rows = np.where(there, starts[time] + sequence, sizes.sum())
    places = np.empty(sizes.sum(), np.int64)
    places[rows[there]] = np.flatnonzero(there)
    ends = (lengths - 1) * count + np.arange(count)
    return Places(steps, count, rows.ravel(), places, ends)


def spread(x: Tensor, at: Places) -> Tensor:
    """Rows [r, width] as [t, n, width]."""
    width = x.shape[1]
    nothing = ft.zeros((1, width), dtype=x.dtype, device=x.device)
    rows: Tensor = ft.cat([x, nothing]).index_select(0, _index(at.rows, x))
    return rows.reshape(at.steps, at.sequences, width)


def gathered(y: Tensor, places: Array) -> Tensor:
    """Rows of [t, n, width], by step and sequence."""
    flat = y.reshape(y.shape[0] * y.shape[1], y.shape[2])
    rows: Tensor = flat.index_select(0, _index(places, y))
    return rows


def _index(places: Array, like: Tensor) -> Tensor:
    index: Tensor = ft.tensor(places, device=like.device)
    return index


__all__ = ["Places", "gathered", "is_worth_a_layer", "places_of", "spread"]
