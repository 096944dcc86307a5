"""The kit kills every mutant and leaves every benign variant alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice

import pytest
from tests.meta.mutants.benign import BENIGN
from tests.meta.mutants.catalogue import CATALOGUE
from tests.meta.mutants.generated import COUNT, SEED, candidates
from tests.meta.mutants.judging import Fate
from tests.meta.mutants.mutant import Mutant
from tests.meta.mutants.runner import Plan, false_alarms, fates
from tests.support import child
from tests.support.turns import SIXTHS, has_its_turn

from dovetail.engine.op import vocabulary

# One of each kind of fault, and quick.
SAMPLE = "values/round-half-away", "memory/view-without-offset", "gradients/abs-at-zero"


def told(found: list[Fate]) -> list[str]:
    """What there is to say of those that were not killed."""
    return [f"{f.name} ({f.describes}): {f.witness}" for f in found if not f.killer]


@pytest.mark.parametrize("name", SAMPLE)
def test_a_mutant_is_killed_by_a_law(name: str) -> None:
    """A planted fault has a witness, and a law at `standard` says what is wrong."""
    (fate,) = fates(Plan(drawn=0, only=name, jobs=1))
    assert fate.witness
    assert fate.killer, fate
    assert fate.message


def test_names_are_unique_and_enough() -> None:
    """At least four hundred different mutants, written by hand or drawn."""
    names = [m.name for m in CATALOGUE] + [m.name for m in islice(_drawn(), COUNT)]
    assert len(set(names)) == len(names) >= 400
    assert len({b.name for b in BENIGN}) == len(BENIGN) >= 25


def _drawn() -> Iterator[Mutant]:
    return candidates(SEED)


def test_a_seed_draws_the_same_mutants_again() -> None:
    """What is drawn depends on the seed alone."""
    one, same, other = (
        [m.name for m in islice(candidates(seed), 50)] for seed in (11, 11, 12)
    )
    assert one == same != other


def test_what_is_drawn_does_not_depend_on_what_is_loaded() -> None:
    """Processes that judge find the mutants that another one drew."""
    program = (
        "from itertools import islice; from tests.meta.mutants import generated as g; "
        "print(*[m.name for m in islice(g.candidates(g.SEED), 300)])"
    )
    there = child.run(sys.executable, "-c", program, cwd=child.ROOT).stdout.split()
    vocabulary.complete()
    assert there == [m.name for m in islice(_drawn(), 300)]


def test_no_fault_is_drawn_twice_for_an_op() -> None:
    """Hundreds of candidates are as many pairs of a kind of fault and an op."""
    names = [m.name.rsplit("-", 1)[0] for m in islice(_drawn(), 1000)]
    assert len(set(names)) == len(names) == 1000


@pytest.mark.slow
def test_a_sixth_of_the_mutants_is_killed() -> None:
    """At `standard` none survives, another sixth with each state of the kit's code.

    The whole set is judged by `python -m tests.meta.mutants`.
    """
    written = [m.name for m in CATALOGUE]
    chosen = [n for n in written if has_its_turn(n, SIXTHS)]
    assert len(chosen) > len(written) / (SIXTHS + 2)
    found = [*fates(Plan(only=",".join(chosen), drawn=0)), *of_drawn(13)]
    assert not told(found)
    assert not [f.name for f in found if f.equivalent]
    assert {f.name for f in found} >= set(chosen)


@pytest.mark.weekly
def test_every_mutant_is_killed() -> None:
    """At `standard` none survives, be it written by hand or drawn."""
    found = [*fates(Plan(drawn=0)), *of_drawn(80)]
    assert not told(found)
    assert not [f.name for f in found if f.equivalent]
    assert {f.name for f in found} >= {m.name for m in CATALOGUE}


def of_drawn(count: int) -> list[Fate]:
    """What becomes of as many that were drawn, and are faults."""
    found = fates(Plan(only="drawn/*", drawn=count))
    real = [f for f in found if not f.equivalent]
    assert len(real) >= count
    return real


@pytest.mark.slow
def test_benign_variants_raise_no_alarm_in_a_sample() -> None:
    """A device that differs within its rights passes one in eight of its checks."""
    assert told_of(Plan(one_in=8)) == []


@pytest.mark.weekly
def test_benign_variants_raise_no_alarm() -> None:
    """It passes all of them."""
    assert told_of(Plan()) == []


def told_of(plan: Plan) -> list[tuple[str, tuple[str, ...]]]:
    """What laws say of benign variants."""
    return [(a.name, a.said) for a in false_alarms(plan) if a.said]
