"""Whether places that an op's indices name may be named again."""

from __future__ import annotations

from functools import lru_cache

from dovetail.dtypes import Array
from dovetail.engine.cases import Sampler, calls_of
from dovetail.engine.op import Op


class _Listening(Sampler):
    """Hears whether calls ask for places that differ."""

    differ = False

    def permutation(self, n: int) -> Array:
        self.differ = True
        return super().permutation(n)


@lru_cache(maxsize=64)
def may_repeat(op: Op) -> bool:
    """Whether results say what comes of a place that is named twice.

    What is written there twice is open, so that the cases of such ops name each once.
    """
    if op.mutates or op.cases is None:
        return False
    sampler = _Listening(op, min(op.accepts, key=str))
    for _ in calls_of(op, sampler):
        pass
    return not sampler.differ
