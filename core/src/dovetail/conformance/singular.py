"""Matrices with a row of zeros, beside others that have none.

What is divided by is 0 then, its logarithm -inf, its sign 0; cases keep matrices far
from that, and repeated rows are singular but for rounding, which leaves all open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.large_matrices import of_matrices
from dovetail.conformance.meaning import means_something
from dovetail.conformance.sizes import AS_NAMED, OWN, named_shapes
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import FLOAT, DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

_CASES: Final = 2


def singular(op: Op, dtype: DType, seed: int) -> Iterator[Example]:
    """The first cases of one operand that is square, where the op takes it so."""
    if not of_matrices(op) or len(op.tensors) > 1 or dtype not in FLOAT:
        return
    found = 0
    for number, shapes in enumerate(named_shapes(op, dtype)):
        shape = shapes[0] if shapes else ()
        if found == _CASES or len(shape) < 2 or not shape[-1] == shape[-2] > 1:
            continue
        make = Varied(op, dtype, ORDINARY, AS_NAMED, seed + number)
        call = chosen_case(op, make, number)
        if call is None or not isinstance(call.args[0], np.ndarray):
            continue
        a = np.array(call.args[0])
        if not a.size or a.ndim < 2 or a.shape[-1] != a.shape[-2]:
            continue
        a.reshape(-1, *a.shape[-2:])[-1, number % a.shape[-1]] = 0
        example = Example(Case((a, *call.args[1:]), call.kwargs), PLAIN, "flat", OWN)
        if means_something(op, example, dtype):
            found += 1
            yield example


__all__ = ["singular"]
