"""What a benign variant is, and how it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tests.meta.mutants.judging import KILLS, Tell, verdict, warm
from tests.meta.mutants.mutant import MUTANT, Fault, installed, with_faults

from dovetail import dtypes
from dovetail.conformance.budget import Budget
from dovetail.conformance.judge import DEVICE
from dovetail.conformance.plan import plan
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check
from dovetail.engine.host import set_fallback_policy
from dovetail_cpu.backend import CpuBackend

# Enough to see every kernel; all fifteen would say the same fifteen times.
_USUAL: Final = ("-", "float32", "float64", "bfloat16", "int32", "int64", "bool")
FLOATS: Final = ("-", "float32", "float64")
HALVES: Final = ("-", "float16", "bfloat16")
COMPLEX: Final = ("-", "complex64")


@dataclass(frozen=True)
class Benign:
    """A sound device that is not the CPU.

    Attributes:
        ops: the ops it does otherwise, separated by spaces; their checks are judged,
            and the laws of the device that `laws` names.
        dtypes: names of those it is judged in.
    """

    name: str
    describes: str
    cls: type[Any]
    ops: str
    laws: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = _USUAL


def otherwise(
    ops: str, fault: Fault, base: type[Any] = CpuBackend, **options: Any
) -> type[Any]:
    """A backend whose kernels of these ops do it in another way."""
    return with_faults(dict.fromkeys(ops.split(), fault), base, **options)


def alarms(benign: Benign, budget: Budget, tell: Tell, one_in: int = 1) -> list[str]:
    """The failures that laws report of a sound device; none is right.

    Args:
        one_in: how many checks one is judged of; which ones, the budget's seed says.
    """
    warm()
    set_fallback_policy("error")
    found = []
    ops = set(benign.ops.split())
    with installed(CpuBackend, "sound") as plain, installed(benign.cls, MUTANT) as name:
        sound, subject = Subject(plain), Subject(name)
        for check in plan(subject, budget):
            wanted = check.law in benign.laws if check.op == DEVICE else check.op in ops
            wanted = wanted and check.seeded(budget.seed) % one_in == 0
            if not wanted or check.dtype not in benign.dtypes:
                continue
            tell(check.id)
            said = verdict(subject, check, tell, budget)
            if said.outcome in KILLS and not _shared(sound, check, budget, tell):
                found.append(f"{check.id}: {said.failures[0].message}")
    return found


def _shared(sound: Subject, check: Check, budget: Budget, tell: Tell) -> bool:
    """Whether the CPU itself fails the check."""
    if check.op != DEVICE and not sound.claims(dtypes.by_name(check.dtype)):
        return False
    return verdict(sound, check, tell, budget).outcome in KILLS
