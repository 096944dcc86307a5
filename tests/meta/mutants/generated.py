"""Mutants drawn from a seed: operators of wrongness times the native kernels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Final

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

import dovetail.conformance.oracle  # noqa: F401  (gives random ops their oracles)
from dovetail.device_api import KernelTable
from dovetail.engine.op import Op, vocabulary
from dovetail_cpu import kernels

FAMILY: Final = "drawn"
# Of the release's own run; any other one is as good.
SEED: Final = 3
COUNT: Final = 200


def candidates(seed: int) -> Iterator[Mutant]:
    """Thousands of mutants, the same for the same seed; some are equivalent.

    The operators come in turn, so that each meets some op before any comes again, and
    none meets an op twice. Each ranks the ops by a digest of their names: an op that is
    new takes a place among them and leaves the others in their order.
    """
    ops = _native()
    ranks = {
        name: sorted((op for op in ops if operator.fits(op)), key=_rank(seed, name))
        for name, operator in OPERATORS.items()
    }
    turns = sorted(OPERATORS, key=lambda name: _digest(seed, name))
    for round_ in range(len(ops)):
        for name in turns:
            if round_ < len(ranks[name]):
                yield _mutant(seed, round_, OPERATORS[name], ranks[name][round_])


def _rank(seed: int, operator: str) -> Callable[[Op], int]:
    return lambda op: _digest(seed, operator, op.name)


def _digest(seed: int, *names: str) -> int:
    digest = hashlib.sha256("/".join((str(seed), *names)).encode()).digest()
    return int.from_bytes(digest[:8], "little")


def _native() -> list[Op]:
    """The ops that the CPU has kernels of its own for.

    In a table made anew, once all families are there: which ones were when the device
    was loaded depends on what ran before.
    """
    vocabulary.complete()
    table = KernelTable("cpu")
    kernels.install(table)
    return [vocabulary[n] for n in table.names() if n in vocabulary and _known(n)]


def _known(name: str) -> bool:
    op = vocabulary[name]
    return op.oracle is not None and not op.view and name != "empty"


def _mutant(seed: int, round_: int, operator: Operator, op: Op) -> Mutant:
    doc = operator.make.__doc__ or ""
    name = f"{FAMILY}/{operator.name.replace('_', '-')}-{op.name}-{round_}"
    number = _digest(seed, operator.name, op.name, "number") % (1 << 30)
    return Mutant(
        name, doc.strip(), (op.name,),
        # Made anew wherever it is planted, for some faults remember things.
        lambda: with_faults({op.name: operator.make(op, number)}),
    )  # fmt: skip
