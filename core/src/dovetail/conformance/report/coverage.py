"""What the calls of a run reached of what there is to draw, over all ops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.conformance.coverage import Coverage
from dovetail.conformance.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Level:
    """A level of a factor, such as `special` of the values.

    Attributes:
        met: in how many ops and dtypes a call was so.
        asked: in how many it was asked for.
    """

    factor: str
    name: str
    met: int
    asked: int

    @property
    def share(self) -> float:
        return self.met / max(self.asked, 1)


@dataclass(frozen=True, slots=True)
class Reach:
    """An op in a dtype and what its calls reached."""

    op: str
    dtype: str
    coverage: Coverage

    def to_json(self) -> dict[str, Any]:
        found = self.coverage
        return {"op": self.op, "dtype": self.dtype, "share": found.share} | asdict(
            found
        )

    @property
    def why(self) -> Iterator[tuple[str, str]]:
        """The levels that were not reached in words, by the reason."""
        reasons: dict[str, list[str]] = {}
        for factor, levels in self.coverage.missed.items():
            for level, reason in levels.items():
                reasons.setdefault(reason, []).append(f"{level} {factor}")
        for reason, found in reasons.items():
            yield reason, ", ".join(found)


@dataclass(frozen=True, slots=True)
class CoverageOfRun:
    """What a run reached.

    Attributes:
        levels: each level, by factor and name.
        ops: each op and dtype, those that reached least first.
    """

    levels: tuple[Level, ...]
    ops: tuple[Reach, ...]

    @property
    def crossings(self) -> tuple[int, int]:
        """How many pairs of levels were met in one call, and how many there are."""
        pairs = [reach.coverage.crossings for reach in self.ops]
        return sum(met for met, _ in pairs), sum(of for _, of in pairs)

    @property
    def share(self) -> float:
        """The share of all levels that was reached."""
        asked = sum(level.asked for level in self.levels)
        return sum(level.met for level in self.levels) / max(asked, 1)

    def to_json(self) -> dict[str, Any]:
        return {
            "share": self.share,
            "crossings": self.crossings,
            "levels": [asdict(level) for level in self.levels],
            "ops": [reach.to_json() for reach in self.ops],
        }


def coverage_of_run(verdicts: Iterable[Verdict]) -> CoverageOfRun:
    """The coverage that the verdicts of a run tell of."""
    found = [
        Reach(v.check.op, v.check.dtype, v.coverage)
        for v in verdicts
        if v.coverage is not None
    ]
    counts: dict[tuple[str, str], list[int]] = {}
    for reach in found:
        for level, met in _levels(reach.coverage):
            count = counts.setdefault(level, [0, 0])
            count[0] += met
            count[1] += 1
    levels = [Level(*level, *counts[level]) for level in sorted(counts, key=_order)]
    least = sorted(found, key=lambda r: (r.coverage.share, r.op, r.dtype))
    return CoverageOfRun(tuple(levels), tuple(least))


def _levels(coverage: Coverage) -> Iterator[tuple[tuple[str, str], bool]]:
    """Each level that was asked for, and whether it was met."""
    for factor, counted in coverage.reached.items():
        yield from (((factor, level), True) for level in counted)
    for factor, reasons in coverage.missed.items():
        yield from (((factor, level), False) for level in reasons)


def _order(level: tuple[str, str]) -> tuple[str, int, str]:
    """Numbers after names, by their size."""
    factor, name = level
    return factor, int(name) if name.isdigit() else 0, name
