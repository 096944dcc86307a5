"""Calls in which what decides lies together, in one part of a line.

Of numbers that lie anyhow each block of a line has its share of the greatest, and
kernels that keep a bounded number of candidates a block are right. Here one part has
all of them, and another one all of the least; what counts elements asks for many.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.meaning import means_something
from dovetail.conformance.options import CROSSED, Options, crossed_op
from dovetail.conformance.sizes import Sizing, named_shapes
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import Array, DType, complex64
from dovetail.engine.cases import Case
from dovetail.engine.op import Op
from dovetail.engine.parameters import Param

Ints = tuple[int, ...]
_LONG: Final = (1 << 12) + 3  # four blocks of the longest, and a rest
_PART: Final = 4  # the share of a row that has all of the greatest is one in so many
_AXES: Final = frozenset({"Axis", "AxisOrAll", "AxisOrEvery", "Axes", "AxesIfAny"})


def concentrated(op: Op, dtype: DType, largest: int, seed: int) -> Iterator[Example]:
    """Along each dim of a matrix, of ops that choose among the elements of a line."""
    dim = _line_of(op)
    if dim is None or op.cases is None:
        return
    source, _ = crossed_op(op, dtype)
    most = min(largest, op.largest or largest)
    for number, shapes in enumerate(named_shapes(op, dtype)):
        shape = shapes[0] if shapes else ()
        if len(shape) == 2 and shape[0] != shape[1] and min(shape) > 1:
            for d, size in enumerate(shape):
                length = min(_LONG, most // shape[1 - d])
                make = Varied(op, dtype, ORDINARY, _only(size, length), seed + d)
                counts = _counts(source, length, make.random)
                make.options = Options(source, number, {dim.name: d} | counts)
                call = chosen_case(op, make, number)
                if call is not None:
                    yield from _gathered(op, dtype, call, d, make.random)
            return


def _line_of(op: Op) -> Param | None:
    """The dim along which an op chooses among the elements of its one operand."""
    chooses = op.unrounded and complex64 not in op.accepts and not op.view
    if op.has_list or len(op.tensors) != 1 or not chooses or op.is_elementwise:
        return None
    dims = [p for p in op.rest if p.annotation.removesuffix(" | None") in _AXES]
    return dims[0] if len(dims) == 1 else None


def _only(size: int, length: int) -> Sizing:
    return Sizing(lambda n: length if n == size else n)


def _counts(op: Op, length: int, random: np.random.Generator) -> dict[str, int]:
    """For what counts elements, a number of those that lie together."""
    low, high = length // _PART // 2 + 1, length // _PART + 1
    names = [p.name for p in op.rest if p.annotation == "int"]
    return {name: int(random.integers(low, high)) for name in names}


def _gathered(
    op: Op, dtype: DType, call: Case, dim: int, random: np.random.Generator
) -> Iterator[Example]:
    a, *rest = call.args
    if not isinstance(a, np.ndarray) or a.ndim != 2 or a.dtype != dtype.numpy:
        return
    made = np.take_along_axis(a, _places(a, dim, random), dim)
    size = str(math.prod(a.shape))
    example = Example(Case((made, *rest), call.kwargs), PLAIN, ORDINARY, size, CROSSED)
    if means_something(op, example, dtype):
        yield example


def _places(a: Array, dim: int, random: np.random.Generator) -> Array:
    """Where each element is taken from, so that a part of a line has the greatest."""
    rows = np.moveaxis(a, dim, -1)
    # Not all of NumPy takes the narrower formats.
    order = np.argsort(rows.astype(np.float64), -1, kind="stable")
    n = rows.shape[-1]
    part = n // _PART
    found = np.empty_like(order)
    for row, ranks in zip(found, order, strict=True):
        parts: list[Any] = [ranks[:part], ranks[part:-part], ranks[-part:]]
        least, others, greatest = (random.permutation(x) for x in parts)
        at = np.sort(random.integers(0, len(others) + 1, 2))
        ends = [least, greatest] if random.random() < 0.5 else [greatest, least]
        row[:] = np.concatenate([
            others[: at[0]], ends[0], others[at[0] : at[1]], ends[1], others[at[1] :]
        ])  # fmt: skip
    return np.moveaxis(found, -1, dim)


__all__ = ["concentrated"]
