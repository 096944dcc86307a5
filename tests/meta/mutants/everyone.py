"""All mutants by name: those written by hand, and those drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterator

from tests.meta.mutants.catalogue import CATALOGUE
from tests.meta.mutants.generated import FAMILY, candidates
from tests.meta.mutants.mutant import Mutant


def named(name: str, seed: int) -> Mutant:
    """The mutant of that name."""
    if not name.startswith(f"{FAMILY}/"):
        return next(m for m in CATALOGUE if m.name == name)
    return next(m for m in candidates(seed) if m.name == name)


def everyone(seed: int) -> Iterator[Mutant]:
    """Those written by hand, then the candidates."""
    yield from CATALOGUE
    yield from candidates(seed)
