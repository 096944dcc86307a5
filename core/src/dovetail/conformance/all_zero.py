"""Calls in which all numbers are 0 and a guard keeps 0 / 0 away.

An eps that is rounded to the format of the numbers is 0 in half precision, and what it
is added to is 0 where no gradient came and where a row has no spread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.meaning import means_something
from dovetail.conformance.options import CROSSED
from dovetail.dtypes import FLOAT, DType
from dovetail.engine.cases import Case, Sampler, calls_of
from dovetail.engine.op import Op

_GUARD: Final = 1e-8  # such as users give; half precision has no number below 6e-8
_SMALL: Final = 0.1  # what guards is no greater
_CASES: Final = 2
_ZEROS: Final = "zeros"


def all_zero(op: Op, dtype: DType, values: Sequence[str]) -> Iterator[Example]:
    """The first cases with a small number among their scalars, made smaller still."""
    if op.cases is None or _ZEROS not in values or dtype not in FLOAT:
        return
    if not op.scalars or op.is_elementwise:
        return
    found = 0
    for call in calls_of(op, Sampler(op, dtype)):
        made = _emptied(op, call, dtype)
        if made is None or found == _CASES:
            continue
        example = Example(made, PLAIN, _ZEROS, options=CROSSED)
        if means_something(op, example, dtype):
            found += 1
            yield example


def guard_of(op: Op, call: Case) -> str:
    """The name of the least of a call's small numbers above 0; empty without such."""
    given = dict(zip(op.names, call.args, strict=False)) | call.kwargs
    numbers = {
        name: given[name] for name in op.scalars
        if isinstance(given.get(name), float) and 0 < given[name] <= _SMALL
    }  # fmt: skip
    return min(numbers, key=lambda name: numbers[name], default="")


def _emptied(op: Op, call: Case, dtype: DType) -> Case | None:
    """The call of zeros, its least positive number the guard; None without such."""
    guard = guard_of(op, call)
    if not guard or not any(a.size > 1 for a in Example(call).arrays()):
        return None

    def of(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [of(name, v) for v in value]
        if isinstance(value, np.ndarray) and value.dtype == dtype.numpy:
            return np.zeros_like(value)
        return _GUARD if name == guard else value

    args = tuple(of(n, v) for n, v in zip(op.names, call.args, strict=False))
    return Case(args, {k: of(k, v) for k, v in call.kwargs.items()})


__all__ = ["all_zero", "guard_of"]
