"""Training steps as data: recorded on a device, and done again there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dovetail.compiler import record
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Unclaimed, device_law
from dovetail.conformance.laws.bits import expect_bits
from dovetail.conformance.subject import Subject
from dovetail.conformance.workloads import WORKLOADS, Workload
from dovetail.dtypes import Array, DType
from dovetail.engine.generator import generator_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import DTypeError, NotSupported

_STEPS: Final = 3
_SMALL: Final = ("MLP", "transformer block")


def _workloads(
    subject: Subject, dtype: DType | None, budget: Budget
) -> Iterator[Example]:
    for at, work in enumerate(WORKLOADS):
        if budget.name != "quick" or work.name in _SMALL:
            yield Example(size=work.name, known={"at": at})


@device_law("replay", examples=_workloads, rank=65, per_dtype=False)
def replay(trial: Trial) -> None:
    """A training step that is recorded leaves, replayed, the bits that eager leaves.

    The step of a model with AdamW, with other inputs each time.
    """
    work = WORKLOADS[trial.example.known["at"]]
    try:
        eager = _trained(trial, work, recorded=False)
    except (DTypeError, NotSupported) as error:
        raise Unclaimed(str(error)) from error
    replayed = _trained(trial, work, recorded=True)
    for at, (found, wanted) in enumerate(zip(replayed, eager, strict=True)):
        what = "loss" if at < _STEPS else "parameter"
        number = at if at < _STEPS else at - _STEPS
        expect_bits(f"{what} {number} of the {work.name}, replayed", found, wanted)


def _trained(trial: Trial, work: Workload, recorded: bool) -> list[Array]:
    """Losses and parameters after two steps and more, which the second may give."""
    device = trial.subject.device
    generator = generator_of(device)
    place = generator.initial_seed(), generator.offset
    generator.manual_seed(trial.seed)
    try:
        model, step, first = work.training(device)
        batches = [first, *(work.inputs(device) for _ in range(_STEPS + 1))]
        step(*batches[0])
        if recorded:
            again: Any = record(step, *batches[1])
        else:
            step(*batches[1])
            again = step
        losses = [again(*batch) for batch in batches[2:]]
        return [_values(x) for x in (*losses, *model.parameters())]
    finally:
        generator._set(*place)  # a state would be a tensor, on the CPU


def _values(x: Tensor) -> Array:
    return x._kind.backend.copy_out(x._a)
