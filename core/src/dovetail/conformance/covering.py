"""Pairwise covering arrays: few rows in which every pair of levels meets.

Kuhn, Wallace, Gallo (2004): nearly all failures are triggered by one or two factors.
The rows are chosen greedily, so any prefix covers as many pairs as it can.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

Row = dict[str, str]
_TRIES = 12


def rows(factors: Mapping[str, Sequence[str]], seed: int, count: int) -> Iterator[Row]:
    """At most `count` rows, in the order in which they cover most."""
    random = np.random.default_rng(seed)
    names = list(factors)
    missing = {
        (a, x, b, y)
        for a, b in itertools.combinations(names, 2)
        for x in factors[a]
        for y in factors[b]
    }
    for _ in range(count):
        open_pairs = sorted(missing)
        candidates = [_candidate(factors, open_pairs, random) for _ in range(_TRIES)]
        best = max(candidates, key=lambda row: len(_pairs(row, names) & missing))
        missing -= _pairs(best, names)
        yield best


def _pairs(row: Row, names: Sequence[str]) -> set[tuple[str, str, str, str]]:
    return {(a, row[a], b, row[b]) for a, b in itertools.combinations(names, 2)}


def _candidate(
    factors: Mapping[str, Sequence[str]],
    missing: Sequence[tuple[str, str, str, str]],
    random: np.random.Generator,
) -> Row:
    """A row around one pair that is not covered yet."""
    row = {
        n: levels[int(random.integers(len(levels)))] for n, levels in factors.items()
    }
    if missing:
        a, x, b, y = missing[int(random.integers(len(missing)))]
        row[a], row[b] = x, y
    return row
