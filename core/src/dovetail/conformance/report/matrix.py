"""Op × dtype × layout: one state for each, from the verdicts of all laws."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from dovetail import dtypes
from dovetail.conformance.judge import DEVICE
from dovetail.conformance.plan import holds
from dovetail.conformance.run import RunRecord
from dovetail.conformance.verdicts import BAD, How, Outcome, Verdict
from dovetail.dtypes import by_name
from dovetail.engine.op import declared

NATIVE: Final = How.NATIVE.value
COMPOSED: Final = How.COMPOSED.value
# From the worst; a cell is in the first of these that any of its laws ended in.
SEVERITY: Final = (
    Outcome.CRASHED, Outcome.HUNG, Outcome.OUT_OF_MEMORY, Outcome.WRONG,
    Outcome.REFUSED, Outcome.TODO, Outcome.HOST,
)  # fmt: skip
STATES: Final = (
    NATIVE, COMPOSED, *(outcome.value for outcome in SEVERITY),
    Outcome.UNCLAIMED.value, Outcome.UNTESTED.value,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """What became of an op in a dtype.

    Attributes:
        state: one of `STATES`.
        layouts: the same for each layout that was tried.
        laws: outcome by law.
        examples: how many were executed in all.
        ulp: the largest error of any law, in units in the last place.
        waived: whether a waiver excuses a failure of it.
    """

    op: str
    dtype: str
    state: str
    layouts: dict[str, str] = field(default_factory=dict)
    laws: dict[str, str] = field(default_factory=dict)
    examples: int = 0
    ulp: float | None = None
    waived: bool = False

    @property
    def passed(self) -> bool:
        """Whether an example was executed and every law held."""
        return self.state in (NATIVE, COMPOSED)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def executed(verdict: Verdict) -> Outcome:
    """The outcome; nothing has passed of which no example was executed."""
    if verdict.outcome is Outcome.PASSED and not verdict.examples:
        return Outcome.UNTESTED
    return verdict.outcome


def matrix(run: RunRecord) -> dict[tuple[str, str], Cell]:
    """A cell for each op and dtype that it accepts, tried or not, in order."""
    by_pair: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in run.verdicts:
        if verdict.check.op != DEVICE:
            pair = verdict.check.op, verdict.check.dtype
            by_pair.setdefault(pair, []).append(verdict)
    claimed = {by_name(name) for name in run.about.dtypes}
    cells = {}
    for op in declared():
        for dtype in dtypes.ALL:
            pair = op.name, dtype.name
            if pair in by_pair:
                cells[pair] = _cell(*pair, by_pair[pair])
            elif dtype in op.accepts:
                able = dtype in claimed and holds(claimed, op, dtype)
                state = Outcome.UNTESTED if able else Outcome.UNCLAIMED
                cells[pair] = Cell(*pair, state.value)
    return cells


def _cell(op: str, dtype: str, verdicts: list[Verdict]) -> Cell:
    how = next((v.how for v in verdicts if v.how is not How.NONE), How.NONE)
    outcomes = [executed(v) for v in verdicts]
    layouts: dict[str, list[Outcome]] = {}
    for v in verdicts:
        for layout, outcome in v.layouts.items():
            waived = v.outcome is Outcome.WAIVED and outcome in BAD
            layouts.setdefault(layout, []).append(Outcome.WAIVED if waived else outcome)
    return Cell(
        op, dtype, _state(outcomes, how),
        {name: _state(found, how) for name, found in layouts.items()},
        {v.check.law: o.value for v, o in zip(verdicts, outcomes, strict=True)},
        sum(v.examples for v in verdicts),
        max((v.ulp for v in verdicts if v.ulp is not None), default=None),
        Outcome.WAIVED in outcomes,
    )  # fmt: skip


def _state(outcomes: Iterable[Outcome], how: How) -> str:
    """The worst outcome; what ran, where all is well and something was executed."""
    found = set(outcomes)
    for bad in SEVERITY:
        if bad in found:
            return bad.value
    if found & {Outcome.PASSED, Outcome.WAIVED}:
        return how.value
    return (Outcome.UNCLAIMED if Outcome.UNCLAIMED in found else Outcome.UNTESTED).value
