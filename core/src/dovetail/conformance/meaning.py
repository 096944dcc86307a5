"""Whether an op takes a call that was generated."""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.oracle import truth
from dovetail.conformance.reference import reference
from dovetail.conformance.sizes import DRAWN, EMPTY
from dovetail.conformance.subject import Subject
from dovetail.dtypes import DType
from dovetail.engine.op import Op
from dovetail.engine.results import DATA

_LARGEST_RESULT: Final = 1 << 18
# What ops and oracles raise where arguments do not go together.
REFUSALS: Final = (
    ValueError, IndexError, TypeError, RuntimeError, ZeroDivisionError, OverflowError,
    MemoryError,
)  # fmt: skip


def means_something(op: Op, example: Example, dtype: DType) -> bool:
    """Whether the op takes the call: other sizes may break what it asks for."""
    try:
        # The rule says what an op refuses; bodies ask for more of odd sizes.
        device = reference() if example.size in (DRAWN, EMPTY) else None
        if device is None and op.shape is not DATA:
            device = Subject("meta")
        if device is not None:
            results = device.run(op, Example(example.case), dtype)
            shapes = [tuple(y._a.shape) for y in results]
            if any(n < 0 for shape in shapes for n in shape):
                return False  # a count of its own is what an op may rely on
            if max(map(math.prod, shapes), default=0) > _LARGEST_RESULT:
                return False  # a small input may ask for a huge result
        if _picked_at_once(op, example) > _LARGEST_RESULT:
            return False
        truth(op, example, dtype)
    except REFUSALS:
        return False
    return True


def _picked_at_once(op: Op, example: Example) -> int:
    """How many elements the indices of a call name, one for each dim that has any."""
    assert example.case is not None
    given = dict(zip(op.names, example.case.args, strict=False))
    lists = [
        v for name, v in given.items() if name in op.indices and isinstance(v, list)
    ]
    if not lists:
        return 0
    found = [i for i in lists[0] if i is not None and i.dtype.kind == "i"]
    whole = zip_longest(example.case.args[0].shape, lists[0])
    rest: int = math.prod(n for n, i in whole if i is None and n is not None)
    return rest * int(math.prod(np.broadcast_shapes(*(i.shape for i in found))))
