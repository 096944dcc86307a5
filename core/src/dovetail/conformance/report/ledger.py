"""The ledger: the largest error that was measured, by op and dtype."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.conformance.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Entry:
    """The largest error of an op in a dtype.

    Attributes:
        ulp: in units in the last place of the result.
        at: the class of values it was seen on.
        law: the law that measured it.
    """

    op: str
    dtype: str
    ulp: float
    at: str
    law: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def ledger(verdicts: Iterable[Verdict]) -> list[Entry]:
    """One entry for each op and dtype with a measured error, the largest first."""
    worst: dict[tuple[str, str], Entry] = {}
    for v in verdicts:
        if v.ulp is None:
            continue
        pair = v.check.op, v.check.dtype
        if pair not in worst or v.ulp > worst[pair].ulp:
            worst[pair] = Entry(*pair, v.ulp, v.ulp_at, v.check.law)
    return sorted(worst.values(), key=lambda e: (-e.ulp, e.op, e.dtype))
