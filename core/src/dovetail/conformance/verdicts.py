"""What a run finds: checks, outcomes, verdicts; plain data that crosses processes."""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from dovetail.conformance.coverage import Coverage


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    WRONG = "wrong"  # a result, or what happened to memory, is not what must be
    REFUSED = "refused"  # raised where it must run
    TODO = "todo"  # not implemented yet: raised Unwritten
    CRASHED = "crashed"  # the process died
    HUNG = "hung"  # no answer; the watchdog killed it
    OUT_OF_MEMORY = "out of memory"
    HOST = "host"  # neither kernel nor body: only the host could run it
    UNCLAIMED = "unclaimed"  # the device lacks the dtype or the capability
    UNTESTED = "untested"  # no example was executed
    WAIVED = "waived"  # failed as its waiver says


GOOD: Final = frozenset({Outcome.PASSED, Outcome.WAIVED})
# What makes a run fail; the others are facts about the device.
BAD: Final = frozenset(
    {
        Outcome.WRONG, Outcome.REFUSED, Outcome.TODO, Outcome.CRASHED, Outcome.HUNG,
        Outcome.OUT_OF_MEMORY, Outcome.HOST, Outcome.UNTESTED,
    }
)  # fmt: skip


# Starts the note of a check that was not made.
NOT_RUN: Final = "not run: "


class How(StrEnum):
    """What ran: a kernel of the device, the op's body, the host, or nothing."""

    NATIVE = "native"
    COMPOSED = "composed"
    HOST = "host"
    NONE = "none"


@dataclass(frozen=True, slots=True, order=True)
class Check:
    """One op in one dtype under one law; the unit that is judged and rerun.

    Attributes:
        op: name of the op; `device` for laws on the device as a whole.
        dtype: of the op's leading input; `-` where a law has none.
        law: name of the law.
    """

    op: str
    dtype: str
    law: str

    @property
    def id(self) -> str:
        return f"{self.op}/{self.dtype}/{self.law}"

    def seeded(self, seed: int) -> int:
        """Seeds all that the check draws in a run of this seed, and nothing else does.

        The seed 0, which runs have unless they are told otherwise, adds nothing.
        """
        text = f"{self.id} {seed}" if seed else self.id
        return zlib.crc32(text.encode())

    @classmethod
    def parse(cls, text: str) -> Check:
        """The check of an id."""
        op, dtype, law = text.split("/")
        return cls(op, dtype, law)


@dataclass(frozen=True, slots=True)
class Failure:
    """One way in which a check failed, after shrinking.

    Attributes:
        message: what was, and what was needed.
        example: the call in words.
        layout: how its inputs lay in memory.
        index: which of the check's examples it was shrunk from.
        script: Python that shows it on its own, given the device string.
        traceback: of the error, if one was raised.
    """

    outcome: Outcome
    message: str
    example: str = ""
    layout: str = ""
    index: int = -1
    script: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a check.

    Attributes:
        examples: how many were executed.
        layouts: outcome by layout.
        ulp: the largest error seen, in units in the last place of the result.
        ulp_at: the class of values it was seen on.
        note: why, where there is no failure to tell it.
        failing: the numbers of all examples that failed.
        beyond: the largest error of these in ulp; infinite where one of them fails by
            more than rounding.
        coverage: what the calls reached, where the law tries all of an op's.
    """

    check: Check
    outcome: Outcome
    how: How = How.NONE
    examples: int = 0
    layouts: dict[str, Outcome] = field(default_factory=dict)
    ulp: float | None = None
    ulp_at: str = ""
    failures: tuple[Failure, ...] = ()
    seconds: float = 0.0
    note: str = ""
    failing: tuple[int, ...] = ()
    beyond: float | None = None
    coverage: Coverage | None = None

    @property
    def tried(self) -> bool:
        """Whether the check was made at all."""
        return not self.note.startswith(NOT_RUN)

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Verdict:
        """The verdict of what `to_json` gave."""
        coverage = data.get("coverage")
        return cls(
            **{
                **data,
                "check": Check(**data["check"]),
                "outcome": Outcome(data["outcome"]),
                "how": How(data["how"]),
                "coverage": coverage and Coverage.from_json(coverage),
                "failing": tuple(data.get("failing", ())),
                "layouts": {k: Outcome(v) for k, v in data["layouts"].items()},
                "failures": tuple(
                    Failure(**{**f, "outcome": Outcome(f["outcome"])})
                    for f in data["failures"]
                ),
            }
        )
