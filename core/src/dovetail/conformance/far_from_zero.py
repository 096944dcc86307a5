"""Calls of numbers that lie close together and far from 0, beside a small guard.

A variance that is added up as E[x²] - E[x]² loses as many digits as the square of the
mean has before it. Cases have an eps that hides it, and long rows that few classes of
values meet: here the first operand is so, and the eps is what programs have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from dovetail.conformance.all_zero import guard_of
from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.following import followed, only
from dovetail.conformance.formats import limits
from dovetail.conformance.meaning import means_something
from dovetail.conformance.options import CROSSED
from dovetail.conformance.sizes import named_shapes
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import FLOAT, Array, DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

_GUARD: Final = 1e-5
_CENTRE: Final = 3.0
_CLOSE: Final = 8  # powers of two between the centre and the spread, at most
_ROW: Final = 67
_CASES: Final = 2
_SHIFTED: Final = "shifted"


def far_from_zero(
    op: Op, dtype: DType, values: Sequence[str], seed: int
) -> Iterator[Example]:
    """The first cases of an op that averages, or whose results are differences."""
    if op.cases is None or _SHIFTED not in values or dtype not in FLOAT:
        return
    if op.is_elementwise or op.mutates or "ct" in op.names or op.has_list:
        return
    if not (op.averages or op.cancels) or op.largest is not None:
        return
    found = 0
    for number, shapes in enumerate(named_shapes(op, dtype)):
        shape = shapes[0] if shapes else ()
        if found == _CASES or not shape or 0 in shape:
            continue
        sizing = only(shape[-1], _ROW)
        make = Varied(op, dtype, ORDINARY, sizing, seed + number)
        call = followed(op, chosen_case(op, make, number), sizing)
        if call is None or any(call.args[0] is a for a in make.bounded):
            continue
        example = Example(_moved(op, call, dtype), PLAIN, _SHIFTED, options=CROSSED)
        if means_something(op, example, dtype):
            found += 1
            yield example


def _moved(op: Op, call: Case, dtype: DType) -> Case:
    """The call with its first operand far from 0, and a guard as small as usual."""
    guard = guard_of(op, call)

    def of(name: str, value: Any) -> Any:
        if value is call.args[0] and isinstance(value, np.ndarray):
            return _close(value, dtype)
        return _GUARD if name == guard else value

    args = tuple(of(n, v) for n, v in zip(op.names, call.args, strict=False))
    return Case(args, {k: of(k, v) for k, v in call.kwargs.items()})


def _close(a: Array, dtype: DType) -> Array:
    ratio = 2.0 ** min(limits(dtype).nmant // 3, _CLOSE)
    return np.asarray(_CENTRE + a.astype(np.float64) / ratio).astype(a.dtype)


__all__ = ["far_from_zero"]
