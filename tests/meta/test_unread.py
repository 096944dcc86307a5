"""What a call does not read: the law sees kernels that read it all the same."""

from __future__ import annotations

import pytest
from tests.meta.mutants.catalogue.unread import UNREAD
from tests.meta.mutants.mutant import Mutant

from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.judge import judge
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check, Outcome


def outcomes(device: str, mutant: Mutant) -> list[Outcome]:
    """What the law says of the ops that a mutant touches."""
    return [
        judge(Subject(device), Check(op, "float32", "unread"), BUDGETS["standard"])
        .outcome
        for op in mutant.touches
    ]  # fmt: skip


@pytest.mark.parametrize("mutant", UNREAD, ids=lambda mutant: mutant.name)
def test_what_is_read_in_vain_is_seen(mutant: Mutant) -> None:
    """By this law alone, of ordinary numbers, and of none of the sound kernels."""
    with mutant.sane() as device:
        assert set(outcomes(device, mutant)) == {Outcome.PASSED}
    with mutant.planted() as device:
        assert Outcome.WRONG in outcomes(device, mutant)
