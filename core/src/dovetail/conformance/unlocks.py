"""Which ops are made of which: found by running every body."""

from __future__ import annotations

from contextlib import suppress
from functools import cache, lru_cache
from typing import Final

import dovetail.ops.random_oracles  # noqa: F401  declares cases
from dovetail.conformance.example import Example
from dovetail.conformance.reference import listening, reference
from dovetail.dtypes import bool_, float32, int32
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op, declared
from dovetail.errors import DovetailError


@lru_cache(maxsize=1)
def dependents() -> dict[str, frozenset[str]]:
    """The ops that each op is needed for."""
    found: dict[str, set[str]] = {op.name: set() for op in declared()}
    for op in declared():
        for name in uses(op):
            found[name].add(op.name)
    return {name: frozenset(users) for name, users in found.items()}


@cache
def uses(op: Op) -> frozenset[str]:
    """The primitives that an op's body comes down to; a primitive uses itself.

    They are heard on the reference device, which has primitives alone.
    """
    device = reference()
    found: set[str] = set()
    for dtype in (d for d in _SAMPLED if d in op.accepts):
        for case in cases_of(op, dtype):
            with listening() as heard, suppress(DovetailError):
                device.run(op, Example(case), dtype)
            found |= heard
    return frozenset(found)


_SAMPLED: Final = (float32, int32, bool_)
