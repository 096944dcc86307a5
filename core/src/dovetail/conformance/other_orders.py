"""Calls of lists whose members come in other orders.

What takes one member after the other begins with the first and ends with the last: a
short, an empty or a wide one is nothing special where the op's cases have it, and may
be in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Final

import numpy as np

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.meaning import means_something
from dovetail.conformance.sizes import AS_NAMED, OWN, named_shapes
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

_AXES: Final = frozenset({"Axis", "NewAxis"})
_CASES: Final = 6
_MOST: Final = 3  # members, of which each has its turn as the first


def other_orders(op: Op, dtype: DType, seed: int) -> Iterator[Example]:
    """The op's own cases of members that differ in shape, each first in its turn."""
    if op.cases is None or not op.has_list or op.layout_matters:
        return
    for number in range(min(len(named_shapes(op, dtype)), _CASES)):
        make = Varied(op, dtype, ORDINARY, AS_NAMED, seed + number)
        call = chosen_case(op, make, number)
        if call is None:
            continue
        for first in range(1, _MOST):
            turned = _turned(call, first)
            for made in (turned, _other_way(op, turned)):
                example = Example(made, PLAIN, ORDINARY, OWN)
                if made is not None and means_something(op, example, dtype):
                    yield example


def _turned(call: Case, first: int) -> Case | None:
    """The call with the lists beginning elsewhere; None where that is the same."""
    changed = False

    def of(value: Any) -> Any:
        nonlocal changed
        if not _differ(value) or first >= len(value):
            return value
        changed = True
        return [*value[first:], *value[:first]]

    args = tuple(map(of, call.args))
    kwargs = {name: of(value) for name, value in call.kwargs.items()}
    return Case(args, kwargs) if changed else None


def _other_way(op: Op, call: Case | None) -> Case | None:
    """The call along another dim, its members turned; None where there is none."""
    dims = [p for p in op.rest if p.annotation in _AXES]
    if call is None or len(dims) != 1:
        return None
    given = dict(zip(op.names, call.args, strict=False)) | call.kwargs
    dim = given.get(dims[0].name, dims[0].default)
    (members,) = [v for v in given.values() if _differ(v)]
    ndim = min(a.ndim for a in members)
    if not isinstance(dim, int) or ndim < 2:
        return None
    other = 0 if dim % ndim else ndim - 1
    given[dims[0].name] = other
    for name, value in given.items():
        if value is members:
            given[name] = [np.swapaxes(a, dim, other).copy() for a in value]
    first = tuple(takewhile(given.__contains__, op.names))  # by place, as oracles are
    args = tuple(given.pop(name) for name in first)
    return Case(args, given)


def _differ(value: Any) -> bool:
    if not isinstance(value, list) or not all(isinstance(a, np.ndarray) for a in value):
        return False
    return len({a.shape for a in value}) > 1


__all__ = ["other_orders"]
