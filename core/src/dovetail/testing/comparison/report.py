"""What a comparison found, in data and in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dovetail.errors import DovetailError
from dovetail.testing.comparison.call_sites import CallSite
from dovetail.testing.comparison.values import Difference

_SHOWN_OPS = 5


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place at which two devices part.

    Attributes:
        kind: `value` (a result beyond tolerance), `input` (an input was changed),
            `raised` (one device only), `order` (the devices ran different ops) or
            `result` (no op is at fault, yet what the step returns differs).
        op: the op's name; for `result`, where in the returned value.
        call: the number of the op call, from 1; 0 for `result`.
        place: phase, module and line.
        message: what differs, in one sentence.
        inputs: dtype and shape of each input.
        difference: the worst element, where values were compared.
        within: the op inside it that is at fault, where it runs by its definition.
        folder: what was saved, None if nothing was.
    """

    kind: str
    op: str
    call: int
    place: CallSite
    message: str
    inputs: tuple[str, ...] = ()
    difference: Difference | None = None
    within: str | None = None
    folder: Path | None = None

    def __str__(self) -> str:
        where = "" if self.kind == "result" else f" in the {self.place.phase} phase"
        lines = [f"{self.op}{where}: {self.message}"]
        if self.within:
            lines.append(
                f"  by its definition; first at fault within it: {self.within}"
            )
        if self.inputs:
            lines.append(f"  inputs      {', '.join(self.inputs)}")
        if self.difference is not None:
            lines.append(f"  difference  {self.difference}")
        if self.call:
            lines += [f"  {line}" for line in self.place.lines()]
            lines.append(f"  call        number {self.call}")
        if self.folder is not None:
            lines.append(f"  reproduce   python {self.folder / 'reproduce.py'}")
        return "\n".join(lines)


@dataclass(slots=True)
class OpRecord:
    """How one op fared over all its calls.

    Attributes:
        calls: how often it was compared.
        worst: the largest relative error of any element.
        beyond: how many calls were beyond tolerance.
    """

    calls: int = 0
    worst: float = 0.0
    beyond: int = 0


@dataclass(slots=True)
class Lockstep:
    """The report of one comparison.

    Attributes:
        device, reference: the devices compared.
        first: the first divergence, None where there is none.
        ops: by name, how each op fared.
        uncompared: by op, why calls of it could not be compared.
        drift: the largest relative error of what the step returned, None where it
            was not compared: rounding that has added up over the step.
    """

    device: str
    reference: str
    first: Divergence | None = None
    ops: dict[str, OpRecord] = field(default_factory=dict)
    uncompared: dict[str, str] = field(default_factory=dict)
    drift: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the devices agree."""
        return self.first is None

    @property
    def compared(self) -> int:
        """The number of op calls compared."""
        return sum(record.calls for record in self.ops.values())

    def record(self, op: str) -> OpRecord:
        """The entry of an op, made on first use."""
        return self.ops.setdefault(op, OpRecord())

    def __str__(self) -> str:
        verdict = "agree" if self.ok else "part"
        lines = [
            f"{self.device} and {self.reference} {verdict}: "
            f"{self.compared} calls of {len(self.ops)} ops compared"
        ]
        if self.first is not None:
            lines += ["", str(self.first), ""]
        lines += self._worst()
        if self.drift is not None:
            lines.append(f"  drift of what the step returned: {self.drift:.1e}")
        lines += [f"  not compared: {op}: {why}" for op, why in self.uncompared.items()]
        return "\n".join(lines)

    def _worst(self) -> list[str]:
        ranked = sorted(self.ops.items(), key=lambda item: -item[1].worst)
        return [
            f"  {name}: worst relative error {r.worst:.1e} in {r.calls} calls"
            + (f", {r.beyond} beyond tolerance" if r.beyond else "")
            for name, r in ranked[:_SHOWN_OPS]
            if r.worst or r.beyond
        ]


class LockstepError(DovetailError, AssertionError):
    """Two devices part; `report` says where.

    Args:
        report: what was found.
    """

    def __init__(self, report: Lockstep) -> None:
        self.report = report
        super().__init__(
            "lockstep", report.device, was=f"not in step with {report.reference}\n"
            f"{report}",
        )  # fmt: skip

    def __reduce__(self) -> tuple[type[LockstepError], tuple[Lockstep]]:
        return type(self), (self.report,)
