"""A run as data: on what, with what, and the verdicts in the order of the plan."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from dovetail.conformance.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class About:
    """A device under test, and everything that its verdicts depend on.

    Attributes:
        device: its device string, with the index.
        name: what the backend calls it.
        type: the device type.
        memory_bytes: its memory, where known.
        distribution: the package that the backend is from, and its `version`; empty
            for one that was registered in the process.
        driver: what the backend says of its driver, where it says anything.
        dtypes: the names of the dtypes it claims.
        capabilities: the names of the optional capabilities it has.
        kernels: the ops that it has kernels of its own for.
        unwritten: those whose kernel only says that it is to be written.
        methods: the functions that its class has to supply, and whether each is there.
        flushes: the float dtypes in which it declares to flush subnormal numbers.
        subnormals: by float dtype, what it was seen to do: `kept` or `flushed`, or
            why that could not be seen.
        versions: of dovetail, Python, NumPy, and what oracles depend on.
        platform: operating system and machine.
    """

    device: str
    name: str = ""
    type: str = ""
    memory_bytes: int | None = None
    distribution: str = ""
    version: str = ""
    driver: str = ""
    dtypes: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    unwritten: tuple[str, ...] = ()
    methods: dict[str, bool] = field(default_factory=dict)
    flushes: tuple[str, ...] = ()
    subnormals: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    platform: str = ""

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> About:
        """What `asdict` gave, after a way through JSON."""
        lists = ("dtypes", "capabilities", "kernels", "unwritten", "flushes")
        tuples: dict[str, Any] = {k: tuple(data[k]) for k in lists}
        return cls(**{**data, **tuples})


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of the kit on one device.

    Attributes:
        budget: the name of the budget.
        ops, laws: the globs that chose the checks.
        seed: by which examples were drawn.
        started: when, in ISO 8601, UTC.
        seconds: how long it took.
        verdicts: in the order of the plan.
        interrupted: whether Ctrl-C ended it before the last check.
        stopped: the message of a failure after which nothing else can be trusted.
    """

    about: About
    budget: str
    ops: str
    laws: str
    started: str
    seconds: float
    verdicts: tuple[Verdict, ...]
    interrupted: bool = False
    stopped: str = ""
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return {
            **asdict(self),
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
        }

    def moved(self, other: RunRecord) -> list[str]:
        """The ids of checks with other verdicts in another run."""
        mine = {v.check.id: _found(v) for v in self.verdicts}
        others = {v.check.id: _found(v) for v in other.verdicts}
        return [name for name in mine | others if mine.get(name) != others.get(name)]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RunRecord:
        """The run of what `to_json` gave."""
        verdicts = tuple(Verdict.from_json(v) for v in data["verdicts"])
        about = About.from_json(data["about"])
        return cls(**{**data, "about": about, "verdicts": verdicts})


def _found(verdict: Verdict) -> tuple[Any, ...]:
    """What has to be the same whenever a check is judged; times and traces are not."""
    return (
        verdict.outcome, verdict.how, verdict.examples, verdict.layouts,
        verdict.failing, repr(verdict.ulp), verdict.ulp_at, verdict.note,
    )  # fmt: skip
