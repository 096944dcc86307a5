"""Calls in which one operand of many holds what is special, and all others do not.

What is lost of one, such as the NaN of a weight or what a mask hides from a whole row,
the others would outweigh. One operand after the other is so, in a call of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.example import Example
from dovetail.conformance.meaning import REFUSALS, means_something
from dovetail.conformance.sizes import AS_NAMED, SMALL_TILE, Sizing
from dovetail.conformance.values import FEW, MASKED, ORDINARY
from dovetail.dtypes import FLOAT, Array, DType
from dovetail.engine.cases import Case, calls_of
from dovetail.engine.op import Op

_MANY: Final = 3  # data operands
_TILED: Final = Sizing(lambda n: SMALL_TILE * n if 1 < n < SMALL_TILE else n)


def one_by_one(
    op: Op, dtype: DType, values: Sequence[str], seed: int
) -> Iterator[Example]:
    """For each operand, a call with a row of -inf, and one with a NaN and infinity."""
    data = [p.name for p in op.tensors if p.name not in op.indices | op.masks]
    if len(data) < _MANY or op.has_list or op.cases is None or dtype not in FLOAT:
        return
    own = _calls(op, dtype, AS_NAMED, seed)
    tiled = [] if op.is_elementwise else _calls(op, dtype, _TILED, seed)
    for name in data:
        for calls, kind, change in (
            (own, MASKED, _hidden), (own, FEW, _with_few), (tiled, MASKED, _hidden),
        ):  # fmt: skip
            if kind in values:
                changed = (_changed(op, c, b, name, change) for c, b in calls)
                examples = (Example(c, values=kind) for c in changed if c is not None)
                yield from _first(op, dtype, examples)


def _calls(
    op: Op, dtype: DType, sizing: Sizing, seed: int
) -> list[tuple[Case, list[Array]]]:
    """The op's cases in such sizes, and what each of them bounds."""
    make = Varied(op, dtype, ORDINARY, sizing, seed)
    with suppress(*REFUSALS):
        found = [(call, list(make.bounded)) for call in calls_of(op, make)]
        return [] if make.oversized else found
    return []


def _first(op: Op, dtype: DType, found: Iterator[Example]) -> Iterator[Example]:
    for example in found:
        if means_something(op, example, dtype):
            yield example
            return


def _changed(
    op: Op,
    call: Case,
    bounded: list[Array],
    name: str,
    change: Callable[[Array], Array],
) -> Case | None:
    """The call with that operand changed, where it has rows and is free."""
    given = dict(zip(op.names, call.args, strict=False)) | call.kwargs
    a = given.get(name)
    if not isinstance(a, np.ndarray) or a.size < 2 or any(a is b for b in bounded):
        return None
    made = change(a.copy())
    args = tuple(made if v is a else v for v in call.args)
    return Case(args, {k: made if v is a else v for k, v in call.kwargs.items()})


def _hidden(a: Array) -> Array:
    a.reshape(-1, a.shape[-1])[0] = -np.inf
    return a


def _with_few(a: Array) -> Array:
    a.reshape(-1)[[0, -1]] = np.nan, np.inf
    return a
