"""What a failure of the first laws leaves to be tried.

They prove memory, which all others use. What is still to be written there stops a run;
what is wrong in one dtype ends what is tried in that dtype, and in no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.conformance.verdicts import BAD, Check, Outcome, Verdict

# A device that dies in a dtype would die again in most of its checks.
_DEATHS: Final = frozenset({Outcome.CRASHED, Outcome.HUNG, Outcome.OUT_OF_MEMORY})


@dataclass(frozen=True, slots=True)
class Planned:
    """A check of the plan.

    Attributes:
        first: of a law that comes before all others, on memory.
        carries: values travel by what it proves, to the device and back.
        rank: of its law; the lower is proven first.
        primitive: whether the op is of level 0.
    """

    check: Check
    first: bool
    carries: bool
    rank: int
    primitive: bool

    @classmethod
    def of(cls, row: dict[str, Any]) -> Planned:
        """What a worker's row says."""
        check = Check.parse(row["id"])
        return cls(check, row["first"], row["carries"], row["rank"], row["primitive"])


@dataclass(slots=True)
class Foundations:
    """Which dtypes a device cannot be judged in.

    Attributes:
        broken: by dtype, what failed there.
    """

    broken: dict[str, str] = field(default_factory=dict)

    def note(self, planned: Planned, verdict: Verdict) -> None:
        """Learn from a verdict on a first law."""
        failed = verdict.outcome in BAD
        if failed and (planned.carries or verdict.outcome in _DEATHS):
            self.broken.setdefault(verdict.check.dtype, f"{verdict.check.id} failed")

    def against(self, check: Check) -> str:
        """Why a check cannot be made; empty where it can."""
        return self.broken.get(check.dtype, "")

    def gone(self, plan: Sequence[Planned]) -> bool:
        """Whether no dtype is left to judge anything in."""
        dtypes = {p.check.dtype for p in plan if p.first}
        return bool(dtypes) and dtypes <= self.broken.keys()
