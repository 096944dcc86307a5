"""What to write next: the primitives that unlock most, then the kernels that pay most.

Below level 0 a missing primitive is ranked by the ops that come down to it. From then
on, an op that runs by its body is ranked by what a kernel of its own would change: the
time of training steps, the models that call it, the checks that would be native.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dovetail.conformance.bodies import parts
from dovetail.conformance.report.document import Report
from dovetail.conformance.report.levels import REQUIRED
from dovetail.conformance.report.matrix import COMPOSED
from dovetail.conformance.unlocks import dependents
from dovetail.conformance.verdicts import How
from dovetail.conformance.workloads import uses_of
from dovetail.engine.op import declared

_SHOWN: Final = 15
_NAMED: Final = 4
_NEEDED_BY: Final = "needed by"
_TELLING: Final = 0.05  # of a step


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function to write, and what it would change.

    Attributes:
        unlocks: the ops that need it and have no kernel of their own.
        checks: how many checks would run natively.
        models: by model, how often a training step calls it.
        share: by model, the part of the step's time that is spent in it.
    """

    op: str
    unlocks: tuple[str, ...] = ()
    checks: int = 0
    models: dict[str, int] = field(default_factory=dict)
    share: dict[str, float] = field(default_factory=dict)

    @property
    def worth(self) -> tuple[float, ...]:
        """By which candidates are ranked: time, ops, models, checks.

        Times that are about the same are: of a body and the one it consists of, the
        one that serves more ops comes first.
        """
        seen = set(self.models) | set(self.share)
        about = round(sum(self.share.values()) / _TELLING)
        return about, len(self.unlocks), len(seen), self.checks


@dataclass(frozen=True, slots=True)
class Advice:
    """What to write next, the most useful first.

    Attributes:
        primitives: whether these are primitives, which level 0 needs.
        measured: whether the time of training steps was measured.
    """

    device: str
    primitives: bool
    measured: bool
    candidates: tuple[Candidate, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __rich__(self) -> RenderableType:
        if not self.candidates:
            return Text(f"{self.device}: every op has a kernel", "bold green")
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name, side in self._columns():
            table.add_column(
                name, justify=side, overflow="fold", no_wrap=name != _NEEDED_BY
            )
        for rank, found in enumerate(self.candidates[:_SHOWN], 1):
            table.add_row(*map(Text, self._row(rank, found)))
        what = "primitives to write" if self.primitives else "kernels that pay"
        left = len(self.candidates) - _SHOWN
        more = [Text(f"… and {left} more", "dim")] if left > 0 else []
        return Group(Text(f"{self.device}: the next {what}", "bold"), table, *more)

    def _columns(self) -> list[tuple[str, Any]]:
        found = [("", "right"), ("op", "left"), ("unlocks", "right")]
        if not self.primitives:
            found += [("checks", "right")]
            found += [("of a step", "right")] * self.measured
        return [*found, (_NEEDED_BY, "left")]

    def _row(self, rank: int, found: Candidate) -> list[str]:
        row = [str(rank), found.op, f"{len(found.unlocks)} ops"]
        if not self.primitives:
            row.append(str(found.checks))
            if self.measured:
                most = max(found.share.values(), default=0.0)
                row.append(f"{most:.0%}" if most else "")
        named = [f"{m} ×{n}" if n else m for m, n in _models(found).items()]
        named += found.unlocks
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        return [*row, ", ".join(named[:_NAMED]) + more]


def _models(found: Candidate) -> dict[str, int]:
    return {**dict.fromkeys(found.share, 0), **found.models}


def advise(
    report: Report, shares: Mapping[str, Mapping[str, float]] | None = None
) -> Advice:
    """What to write next for the device of a report.

    Args:
        shares: what `measure` found; None ranks without times.
    """
    missing = _missing(report)
    candidates = [
        Candidate(op, tuple(sorted(dependents()[op] - {op})), models=_called(op))
        for op in missing
    ] or [_kernel(report, op, shares or {}) for op in _composed(report)]
    order = _by_unlocks if missing else _by_worth
    found = tuple(sorted(candidates, key=order))
    return Advice(
        report.run.about.device,
        bool(missing),
        not missing and shares is not None,
        found,
    )


def _by_unlocks(found: Candidate) -> tuple[Any, ...]:
    return -len(found.unlocks), found.op


def _by_worth(found: Candidate) -> tuple[Any, ...]:
    return (*(-w for w in found.worth), found.op)


def _missing(report: Report) -> list[str]:
    """The primitives without a kernel in a dtype that level 0 requires."""
    about = report.run.about
    have = set(about.kernels)
    host = {
        v.check.op
        for v in report.run.verdicts
        if v.how is How.HOST and v.check.dtype in {d.name for d in REQUIRED}
    }
    return [
        op.name
        for op in declared()
        if op.primitive & set(REQUIRED) and (op.name not in have or op.name in host)
    ]


def _composed(report: Report) -> list[str]:
    """The ops without a kernel; views need none."""
    have = set(report.run.about.kernels)
    return [
        op.name
        for op in declared()
        if op.name not in have and not op.view and not op.primitive
    ]


def _kernel(
    report: Report, op: str, shares: Mapping[str, Mapping[str, float]]
) -> Candidate:
    composed = set(_composed(report))
    users = {u for u, inner in parts().items() if op in inner} & composed - {op}
    checks = sum(
        v.check.op == op and v.how.value == COMPOSED for v in report.run.verdicts
    )
    share = {model: found[op] for model, found in shares.items() if op in found}
    return Candidate(op, tuple(sorted(users)), checks, _called(op), share)


def _called(op: str) -> dict[str, int]:
    return {m: steps[op].calls for m, steps in uses_of().items() if op in steps}


__all__ = ["Advice", "Candidate", "advise"]
