"""Mutants drawn from a seed: operators of wrongness times the native kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from tests.meta.mutants import (  # noqa: F401  (they register their faults)
    faults_of_history,
    faults_of_place,
    faults_of_special,
    faults_of_tiles,
    faults_of_value,
    faults_of_width,
    faults_of_writing,
)
from tests.meta.mutants.mutant import Mutant, with_faults
from tests.meta.mutants.operators import OPERATORS, Operator

from dovetail.device_api import registry
from dovetail.engine.op import Op, vocabulary

FAMILY: Final = "drawn"
# Of the release's own run; any other one is as good.
SEED: Final = 3
COUNT: Final = 200


def candidates(seed: int) -> Iterator[Mutant]:
    """Thousands of mutants, the same for the same seed; some are equivalent.

    The operators come in turn, so that each meets some op before any comes again, and
    none meets an op twice.
    """
    names = sorted(OPERATORS)
    random = np.random.default_rng(seed)
    ops, met = _native(), set[tuple[str, str]]()
    for round_ in range(len(ops)):
        for number in random.permutation(len(names)):
            operator = OPERATORS[names[number]]
            fitting = [
                op
                for op in ops
                if operator.fits(op) and (operator.name, op.name) not in met
            ]
            if not fitting:
                continue
            op = fitting[int(random.integers(len(fitting)))]
            met.add((operator.name, op.name))
            yield _mutant(f"{round_}", operator, op, int(random.integers(1 << 30)))


def _native() -> list[Op]:
    """The ops that the CPU has kernels of its own for."""
    table = registry.load("cpu").table
    return [vocabulary[n] for n in table.names() if n in vocabulary and _known(n)]


def _known(name: str) -> bool:
    op = vocabulary[name]
    return op.oracle is not None and not op.view and name != "empty"


def _mutant(round_: str, operator: Operator, op: Op, number: int) -> Mutant:
    doc = operator.make.__doc__ or ""
    name = f"{FAMILY}/{operator.name.replace('_', '-')}-{op.name}-{round_}"
    return Mutant(
        name, doc.strip(), (op.name,),
        # Made anew wherever it is planted, for some faults remember things.
        lambda: with_faults({op.name: operator.make(op, number)}),
    )  # fmt: skip
