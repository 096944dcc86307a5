"""Pairwise covering arrays: few rows in which every pair of levels meets.

Kuhn, Wallace, Gallo (2004): nearly all failures are triggered by one or two factors.
The rows are chosen greedily, levels that were not met yet before pairs, so any prefix
covers as much as it can. Only what a row turned out to have is ticked.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

import numpy as np

Row = dict[str, str]
Level = tuple[str, str]  # a factor and its level
Pair = tuple[str, str, str, str]  # of two factors
T = TypeVar("T")
_CANDIDATES: Final = 12
_ATTEMPTS: Final = 3  # at a pair, before others come first
_AT_A_LEVEL: Final = 5
_LEVEL: Final = 8  # what a level that was not met yet is worth, in pairs


class Covering:
    """Rows to draw, and what those that were drawn left open.

    Args:
        factors: the levels of each factor.
    """

    def __init__(self, factors: Mapping[str, Sequence[str]], seed: int) -> None:
        self._factors = factors
        self._random = np.random.default_rng(seed)
        self._open = {
            (a, x, b, y)
            for a, b in itertools.combinations(factors, 2)
            for x in factors[a]
            for y in factors[b]
        }
        self._unmet = {(a, x) for a, levels in factors.items() for x in levels}
        self._failed: Counter[Pair | Level] = Counter()

    def wanted(self) -> Row:
        """The row that promises most."""
        levels = sorted(x for x in self._unmet if self._failed[x] < _AT_A_LEVEL)
        hopeless = self._unmet.difference(levels)
        pairs = sorted(
            (a, x, b, y) for a, x, b, y in self._open
            if self._failed[a, x, b, y] < _ATTEMPTS
            and (a, x) not in hopeless and (b, y) not in hopeless
        )  # fmt: skip
        found = [self._candidate(pairs, levels) for _ in range(_CANDIDATES)]
        return max(found, key=self.worth)

    def worth(self, row: Row) -> int:
        """How much of what is open a row, or what there is of one, would tick."""
        pairs = [
            p for p in self._pairs(row) & self._open if self._failed[p] < _ATTEMPTS
        ]
        return len(pairs) + _LEVEL * len(self._unmet & set(row.items()))

    def tick(self, row: Row) -> None:
        """A row, or a part of one, was drawn."""
        self._open -= self._pairs(row)
        self._unmet -= set(row.items())

    def missed(self, wanted: Row, drawn: Row) -> None:
        """A row that was asked for could not be drawn, or a part of it not."""
        self._failed.update(self._pairs(wanted) - self._pairs(drawn))
        self._failed.update(set(wanted.items()) - set(drawn.items()))

    def in_vain(self) -> list[Level]:
        """The levels that were asked for and not met in any row."""
        return sorted(x for x in self._unmet if self._failed[x])

    def _pairs(self, row: Row) -> set[Pair]:
        order = [name for name in self._factors if name in row]
        return {(a, row[a], b, row[b]) for a, b in itertools.combinations(order, 2)}

    def _candidate(self, pairs: Sequence[Pair], levels: Sequence[Level]) -> Row:
        """A row around one pair that is not covered yet, or around such levels."""
        row = {name: self._any(found) for name, found in self._factors.items()}
        if pairs:
            a, x, b, y = self._any(pairs)
            row[a], row[b] = x, y
        for name in row:
            unmet = [x for factor, x in levels if factor == name]
            if unmet:
                row[name] = self._any(unmet)
        return row

    def _any(self, found: Sequence[T]) -> T:
        return found[int(self._random.integers(len(found)))]
