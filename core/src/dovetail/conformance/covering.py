"""Pairwise covering arrays: few rows in which every pair of levels meets.

Kuhn, Wallace, Gallo (2004): nearly all failures are triggered by one or two factors.
The rows are chosen greedily, levels that were not met yet before pairs, so any prefix
covers as much as it can. Only what a row turned out to have is ticked.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

Row = dict[str, str]
Level = tuple[str, str]  # a factor and its level
Pair = tuple[str, str, str, str]  # of two factors
_CANDIDATES: Final = 12
_ATTEMPTS: Final = 3  # at a pair, before others come first
_AT_A_LEVEL: Final = 5
_IN_VAIN: Final = 12  # then a level is not drawn beside others either
_LEVEL: Final = 8  # what a level that was not met yet is worth, in pairs


class Covering:
    """Rows to draw, and what those that were drawn left open.

    Args:
        factors: the levels of each factor.
    """

    def __init__(self, factors: Mapping[str, Sequence[str]], seed: int) -> None:
        self._factors = factors
        self._random = np.random.default_rng(seed)
        # The pairs that no row had yet and that are not given up, in order.
        self._open = sorted(
            (a, x, b, y)
            for a, b in itertools.combinations(factors, 2)
            for x in factors[a]
            for y in factors[b]
        )
        self._is_open = set(self._open)
        self._unmet = {(a, x) for a, levels in factors.items() for x in levels}
        self._failed: Counter[Pair | Level] = Counter()

    def wanted(self) -> Row:
        """The row that promises most."""
        failed = self._failed
        levels = sorted(x for x in self._unmet if failed.get(x, 0) < _AT_A_LEVEL)
        hopeless = self._unmet.difference(levels)
        pairs = self._open
        if hopeless:
            pairs = [
                (a, x, b, y) for a, x, b, y in pairs
                if (a, x) not in hopeless and (b, y) not in hopeless
            ]  # fmt: skip
        in_vain = {x for x in hopeless if failed[x] >= _IN_VAIN}
        candidates = self._candidates(pairs, levels, in_vain)
        return max(candidates, key=self.worth)

    def worth(self, row: Row) -> int:
        """How much of what is open a row, or what there is of one, would tick."""
        pairs = self._is_open.intersection(self._pairs(row))
        return len(pairs) + _LEVEL * len(self._unmet.intersection(row.items()))

    def tick(self, row: Row) -> None:
        """A row, or a part of one, was drawn."""
        self._close(self._pairs(row))
        self._unmet.difference_update(row.items())

    def missed(self, wanted: Row, drawn: Row) -> None:
        """A row that was asked for could not be drawn, or a part of it not."""
        pairs = set(self._pairs(wanted)).difference(self._pairs(drawn))
        self._failed.update(pairs)
        self._failed.update(wanted.items() - drawn.items())
        self._close(p for p in pairs if self._failed[p] >= _ATTEMPTS)

    def _close(self, pairs: Iterable[Pair]) -> None:
        """Ask for some pairs no more."""
        for pair in self._is_open.intersection(pairs):
            self._is_open.remove(pair)
            del self._open[bisect_left(self._open, pair)]

    def in_vain(self) -> list[Level]:
        """The levels that were asked for and not met in any row."""
        return sorted(x for x in self._unmet if self._failed[x])

    def has_met(self, factor: str, level: str) -> bool:
        """Whether a row had a level."""
        return (factor, level) not in self._unmet

    def _pairs(self, row: Row) -> list[Pair]:
        order = [name for name in self._factors if name in row]
        return [(a, row[a], b, row[b]) for a, b in itertools.combinations(order, 2)]

    def _candidates(
        self, pairs: Sequence[Pair], levels: Sequence[Level], in_vain: set[Level]
    ) -> Iterator[Row]:
        """Rows around one pair each that is not covered yet, or around such levels.

        Of levels that were asked for in vain there are none, for they tick nothing.
        """
        unmet: dict[str, list[str]] = {}
        for name in self._factors:
            if found := [x for factor, x in levels if factor == name]:
                unmet[name] = found
        around = [pairs] if pairs else []
        hopeful = [
            [x for x in found if (name, x) not in in_vain] or found
            for name, found in self._factors.items()
        ]
        pools: list[Any] = [*hopeful, *around, *unmet.values()]
        sizes = np.array([*map(len, pools)])
        # One call draws them all, as one for each number takes far longer.
        drawn = self._random.integers(sizes, size=(_CANDIDATES, len(sizes)))
        for places in drawn.tolist():
            chosen = (pool[at] for pool, at in zip(pools, places, strict=True))
            row: Row = dict(zip(self._factors, chosen, strict=False))
            for a, x, b, y in itertools.islice(chosen, len(around)):
                row[a], row[b] = x, y
            yield row | dict(zip(unmet, chosen, strict=False))
