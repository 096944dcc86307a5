"""Square matrices in whose elimination a zero is met: rows have to be exchanged.

Cases keep the diagonal large. There it is never asked which row comes first, nor what
becomes of a quotient by 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.large_matrices import of_matrices
from dovetail.conformance.meaning import means_something
from dovetail.conformance.sizes import AS_NAMED, OWN, named_shapes
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import FLOAT, Array, DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

_CASES: Final = 4  # of square matrices that are looked at


def zero_pivots(op: Op, dtype: DType, seed: int) -> Iterator[Example]:
    """A call for each way in which a pivot is 0, where the op takes it so."""
    if not of_matrices(op) or dtype not in FLOAT:
        return
    calls = list(_square(op, dtype, seed))
    for change in _CHANGES:
        for call in calls:
            a = np.array(call.args[0])
            change(a.reshape(-1, *a.shape[-2:])[-1])
            changed = Case((a, *call.args[1:]), call.kwargs)
            # Not ordinary: without exchanges there are no slopes to compare.
            example = Example(changed, PLAIN, "flat", OWN)
            if means_something(op, example, dtype):
                yield example
                break


def _square(op: Op, dtype: DType, seed: int) -> Iterator[Case]:
    """Calls whose first operand is a square matrix, or a batch of them."""
    found = 0
    for number, shapes in enumerate(named_shapes(op, dtype)):
        shape = shapes[0] if shapes else ()
        if found == _CASES or len(shape) < 2 or not shape[-1] == shape[-2] > 1:
            continue
        make = Varied(op, dtype, ORDINARY, AS_NAMED, seed + number)
        call = chosen_case(op, make, number)
        a = call.args[0] if call is not None else None
        if isinstance(a, np.ndarray) and a.size and a.shape[-1] == a.shape[-2] > 1:
            found += 1
            assert call is not None
            yield call


def _first(a: Array) -> None:
    """The first pivot is in the last row."""
    a[-1, 0] = 1
    a[:-1, 0] = 0


def _second(a: Array) -> None:
    """The second pivot is 0 when the first column is done with."""
    a[0, :2] = a[1, :2] = 2, 1


_CHANGES: Final[tuple[Callable[[Array], None], ...]] = (_first, _second)

__all__ = ["zero_pivots"]
