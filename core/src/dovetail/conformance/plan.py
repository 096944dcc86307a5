"""What a run proves, in the order that tells most first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from functools import cache

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.judge import DEVICE, NO_DTYPE
from dovetail.conformance.law import DEVICE_LAWS, LAWS
from dovetail.conformance.subject import Subject
from dovetail.conformance.unlocks import uses
from dovetail.conformance.verdicts import Check
from dovetail.dtypes import ALL, DType, int32, int64
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op, declared
from dovetail.errors import DovetailError


def plan(
    subject: Subject, budget: Budget, ops: str = "*", laws: str = "*"
) -> list[Check]:
    """The checks of a run: the device's foundations, its primitives, then all ops.

    Args:
        ops: a glob over op names (several: separated by commas); the laws on the
            device as a whole are the op `device`.
        laws: the same over names of laws.
    """
    found = [*_device_checks(subject, budget)]
    for op in by_unlocks([op for op in declared() if _chosen(op.name, ops)]):
        for dtype in dtypes_of(subject, op, budget):
            found += [
                Check(op.name, dtype.name, law.name)
                for law in sorted(LAWS.values(), key=lambda w: (w.rank, w.name))
                if law.depth <= budget.depth and law.fits(subject, op, dtype)
            ]
    return [c for c in found if _chosen(c.op, ops) and _chosen(c.law, laws)]


def _chosen(name: str, globs: str) -> bool:
    return any(fnmatchcase(name, glob.strip()) for glob in globs.split(","))


def _device_checks(subject: Subject, budget: Budget) -> Iterator[Check]:
    for law in sorted(
        DEVICE_LAWS.values(), key=lambda w: (not w.first, w.rank, w.name)
    ):
        dtypes: list[DType | None] = [None]
        if law.per_dtype:
            dtypes = [d for d in budget.dtypes if subject.claims(d)]
        for dtype in dtypes:
            if law.fits(subject, dtype):
                yield Check(DEVICE, dtype.name if dtype else NO_DTYPE, law.name)


def dtypes_of(subject: Subject, op: Op, budget: Budget) -> list[DType]:
    """The budget's dtypes that an op takes on a device, else the first it takes."""
    takes = [d for d in ALL if d in op.accepts and subject.claims(d)]
    found = [d for d in budget.dtypes if d in takes] or takes[:1]
    if op.promote == "float" and int32 in budget.dtypes and int32 not in found:
        found.append(int32)
    return [d for d in found if makes_what_is_claimed(subject, op, d)]


def makes_what_is_claimed(subject: Subject, op: Op, dtype: DType) -> bool:
    """Whether the device can hold what the op makes of a dtype."""
    return holds({d for d in ALL if subject.claims(d)}, op, dtype)


def holds(claimed: Collection[DType], op: Op, dtype: DType) -> bool:
    """Whether a device that claims these dtypes can hold what the op makes of one."""
    indices = int64 if int64 in claimed else int32  # and counts
    return all(indices in claimed if d is int64 else d in claimed
               for d in results_of(op, dtype))  # fmt: skip


@cache
def results_of(op: Op, dtype: DType) -> frozenset[DType]:
    """What an op makes of a dtype; nothing where that is known when it runs."""
    try:
        case = next(iter(cases_of(op, dtype)))
        return frozenset(y.dtype for y in _META.run(op, Example(case), dtype))
    except (DovetailError, StopIteration):
        return frozenset()


_META = Subject("meta")


def by_unlocks(ops: list[Op]) -> list[Op]:
    """Primitives first, those that most of the ops are made of before the others."""
    users = Counter(name for op in ops for name in uses(op))
    return sorted(ops, key=lambda op: (not op.primitive, -users[op.name], op.name))
