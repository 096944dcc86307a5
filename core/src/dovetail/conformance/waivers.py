"""Waivers: failures of a backend that are known, excused one by one and not for ever.

A waiver covers the failure that it pins. What else fails is not hidden by it, and one
that has expired, that no longer is needed or that says nothing fails the run.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from dovetail import dtypes
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.judge import DEVICE, NO_DTYPE
from dovetail.conformance.law import DEVICE_LAWS, LAWS
from dovetail.conformance.verdicts import BAD, Check, Outcome, Verdict
from dovetail.device_api.discovery import GROUP, entries
from dovetail.engine.op import vocabulary
from dovetail.errors import ArgumentError

FILE: Final = "waivers.toml"
FAILURE: Final = "failure"


@dataclass(frozen=True, slots=True)
class Waiver:
    """One known failure.

    Attributes:
        op, dtype, law: of the checks it is about; patterns such as `float_*` may be.
        example: pins what fails: the number of the example, or what the report prints
            after `example`; a list where there are several.
        reason: what goes wrong, and why it stays for now.
        issue: where that is tracked.
        expires: the last day on which it is valid.
        tolerance: the error that is allowed, in ulp of the result; in place of
            `expected`.
        expected: `failure`, where more than rounding is wrong.
        budget: the smallest budget in which the failure is seen.
    """

    op: str
    dtype: str
    law: str
    example: str | int | list[str | int]
    reason: str
    issue: str
    expires: datetime.date
    tolerance: float | None = None
    expected: str | None = None
    budget: str = "quick"

    def __str__(self) -> str:
        return f"waiver of {self.op}/{self.dtype}/{self.law}"

    def about(self, check: Check) -> bool:
        """Whether a check is one that it names."""
        return (
            fnmatchcase(check.op, self.op)
            and fnmatchcase(check.dtype, self.dtype)
            and fnmatchcase(check.law, self.law)
        )

    @property
    def pins(self) -> list[str | int]:
        """The pinned examples."""
        return self.example if isinstance(self.example, list) else [self.example]

    def covers(self, verdict: Verdict) -> bool:
        """Whether all that failed in a check is what this waiver excuses."""
        numbers = {f.index for f in verdict.failures if f.example in self.pins}
        pinned = numbers | {n for n in self.pins if isinstance(n, int)}
        failing = set(verdict.failing) or {f.index for f in verdict.failures}
        if not failing & pinned:
            return False
        if self.tolerance is None:
            return failing <= pinned
        return verdict.beyond is not None and verdict.beyond <= self.tolerance


@dataclass(frozen=True, slots=True)
class Waived:
    """What waivers made of a run.

    Attributes:
        verdicts: those of the run, with `waived` in place of what was excused.
        applied: which waiver excused which checks.
        problems: what is wrong with the waivers themselves; each fails the run.
    """

    verdicts: tuple[Verdict, ...]
    applied: tuple[tuple[Waiver, tuple[str, ...]], ...] = ()
    problems: tuple[str, ...] = ()


def load(path: Path) -> tuple[list[Waiver], list[str]]:
    """The waivers of a file, and what is wrong with the others.

    Raises:
        ArgumentError: the file cannot be read.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ArgumentError(
            "waivers", str(path), was=str(error), needed="a readable TOML file"
        ) from error
    rows = table.pop("waiver", [])
    problems = [f"{path.name}: unknown key {k!r}, needed [[waiver]]" for k in table]
    found = []
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], 1):
        wrong = list(_wrong(row))
        problems += [f"{path.name}, waiver {number}: {text}" for text in wrong]
        if not wrong:
            found.append(Waiver(**row))
    return found, problems


def packaged(device_type: str) -> Path | None:
    """The file that comes with the backend's package; None where it has none."""
    for entry in entries(GROUP):
        if entry.name == device_type:
            spec = find_spec(entry.module.partition(".")[0])
            for folder in (spec and spec.submodule_search_locations) or ():
                if (path := Path(folder, FILE)).is_file():
                    return path
    return None


_NEEDED: Final[dict[str, Any]] = {
    "op": str, "dtype": str, "law": str, "reason": str, "issue": str,
    "expires": datetime.date, "example": (str, int, list),
}  # fmt: skip
_OPTIONAL: Final[dict[str, Any]] = {
    "tolerance": (int, float),
    "expected": str,
    "budget": str,
}


def _wrong(row: Any) -> Iterator[str]:
    """What keeps a table from being a waiver."""
    if not isinstance(row, dict):
        yield f"is {row!r}, needed a table [[waiver]]"
        return
    for name, kind in _NEEDED.items():
        if row.get(name) in (None, "", []):
            yield f"{name} is missing"
        elif not isinstance(row[name], kind) or isinstance(row[name], bool):
            yield f"{name} is {row[name]!r}, needed {_KINDS.get(name, 'a string')}"
    known = {f.name for f in fields(Waiver)}
    yield from (f"{name} is unknown" for name in row if name not in known)
    for name, kind in _OPTIONAL.items():
        if name in row and (
            not isinstance(row[name], kind) or isinstance(row[name], bool)
        ):
            yield f"{name} is {row[name]!r}, which is no {_KINDS.get(name, 'string')}"
    if ("tolerance" in row) == ("expected" in row):
        yield 'needed one of tolerance (a number of ulp) and expected = "failure"'
    if row.get("expected", FAILURE) != FAILURE:
        yield f'expected is {row["expected"]!r}, needed "failure"'
    if row.get("budget", "quick") not in BUDGETS:
        yield f"budget is {row['budget']!r}, needed one of {', '.join(BUDGETS)}"
    yield from _unknown(row)


_KINDS: Final = {
    "expires": "a date such as 2031-01-31",
    "example": "the example's number or words",
    "tolerance": "number of ulp",
}


def _unknown(row: dict[str, Any]) -> Iterator[str]:
    """Names that no check can have."""
    names = {
        "op": {DEVICE, *vocabulary},
        "dtype": {NO_DTYPE, *(d.name for d in dtypes.ALL)},
        "law": {*LAWS, *DEVICE_LAWS},
    }
    for key, known in names.items():
        given = row.get(key)
        if not isinstance(given, str) or not given:
            continue
        if not any(fnmatchcase(name, given) for name in known):
            yield f"{key} {given!r} is none that the kit knows"


def applied(
    verdicts: Iterable[Verdict],
    waivers: Sequence[Waiver],
    today: datetime.date,
    *,
    budget: str,
    complete: bool,
) -> Waived:
    """The verdicts with what is excused, and what is wrong with the waivers.

    Args:
        complete: whether everything was tried, so that a waiver without a check is
            one about nothing.
    """
    found = list(verdicts)
    used: list[tuple[Waiver, tuple[str, ...]]] = []
    problems = [
        f"{w} expired on {w.expires} ({w.reason}; {w.issue})"
        for w in waivers
        if w.expires < today
    ]
    for waiver in (w for w in waivers if w.expires >= today):
        about = [i for i, v in enumerate(found) if waiver.about(v.check)]
        excused = [
            i for i in about if found[i].outcome in BAD and waiver.covers(found[i])
        ]
        for i in excused:
            found[i] = replace(found[i], outcome=Outcome.WAIVED, note=waiver.reason)
        if excused:
            used.append((waiver, tuple(found[i].check.id for i in excused)))
        else:
            problems += _unused(waiver, [found[i] for i in about], budget, complete)
    return Waived(tuple(found), tuple(used), tuple(problems))


def _unused(
    waiver: Waiver, about: list[Verdict], budget: str, complete: bool
) -> Iterator[str]:
    """Why a waiver that excused nothing is a problem; nothing where it is none."""
    order = list(BUDGETS)
    if order.index(budget) < order.index(waiver.budget):
        return
    if not about:
        tried = [d.name for d in BUDGETS[budget].dtypes]
        meant = any(fnmatchcase(d, waiver.dtype) for d in (NO_DTYPE, *tried))
        if complete and meant:
            yield f"{waiver} is about no check of this device: remove it"
        return
    failed = [v for v in about if v.outcome in BAD]
    if not failed:
        yield f"{waiver}: nothing fails any more ({waiver.reason}): remove it"
        return
    ids = ", ".join(v.check.id for v in failed)
    yield (
        f"{waiver} does not cover what fails now in {ids}: it pins "
        f"{', '.join(map(repr, waiver.pins))}"
        + (f" up to {waiver.tolerance} ulp" if waiver.tolerance is not None else "")
    )


__all__ = ["Waived", "Waiver", "applied", "load", "packaged"]
