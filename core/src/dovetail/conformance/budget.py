"""How much a run tries: counts of cases, never seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from dovetail import dtypes
from dovetail.dtypes import DType
from dovetail.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Budget:
    """One of the named budgets.

    Attributes:
        rows: generated calls per op and dtype beside the op's own cases; composed
            ops get three fifths of what native ones get.
        depth: how many times the calls of `quick` other laws try.
        largest: elements of the largest generated inputs.
        dtypes: what is proven of what the device claims.
        steps: length of the programs that state machines run.
        programs: how many of them.
        seed: other examples are drawn with another one.
    """

    name: str
    rows: int
    depth: int
    largest: int
    dtypes: tuple[DType, ...]
    steps: int
    programs: int
    seed: int = 0


_BRIEF: Final = (
    dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.bool_,
    dtypes.bfloat16,
)  # fmt: skip

BUDGETS: Final = {
    "quick": Budget("quick", 6, 1, 1 << 10, _BRIEF, 20, 5),
    "standard": Budget("standard", 40, 4, 1 << 16, dtypes.ALL, 40, 40),
    "deep": Budget("deep", 96, 16, 1 << 18, dtypes.ALL, 80, 300),
}


def budget(name: str, seed: int = 0) -> Budget:
    """The budget of that name, for a run of that seed."""
    found = BUDGETS.get(name)
    if found is None:
        raise ArgumentError(
            "conformance",
            "budget",
            was=repr(name),
            needed=f"one of {', '.join(BUDGETS)}",
        )
    return replace(found, seed=seed)
