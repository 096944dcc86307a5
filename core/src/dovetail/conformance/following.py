"""Calls whose options name sizes of their operands, and grow along with these.

A shape that is an argument is a constant in an op's cases: where the operand grows, the
op refuses the call. So rows of a normalisation would stay as short as the cases have
them. Here each number of such an option that is the size that grows is what it becomes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.meaning import means_something
from dovetail.conformance.options import CROSSED
from dovetail.conformance.sizes import Sizing, named_shapes
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

_SHAPES: Final = frozenset({"Sizes", "Shape"})
_LENGTHS: Final = (67, 1027)  # past a block of lanes, and past one of threads
_MOST: Final = 8  # calls of an op


def following(op: Op, dtype: DType, largest: int, seed: int) -> Iterator[Example]:
    """Each size of each case in turn, where an option names it."""
    if op.cases is None or not op.tensors or op.layout_matters or not names_sizes(op):
        return
    found = 0
    most = min(largest, op.largest or largest)
    for number, shapes in enumerate(named_shapes(op, dtype)):
        for size in sorted({n for shape in shapes for n in shape if n > 1}):
            for length in _LENGTHS:
                sizing = only(size, length)
                whole = max(math.prod(map(sizing, shape)) for shape in shapes)
                if found == _MOST or whole > most:
                    continue
                make = Varied(op, dtype, ORDINARY, sizing, seed + 31 * number + size)
                call = followed(op, chosen_case(op, make, number), sizing)
                example = Example(call, PLAIN, ORDINARY, str(length), CROSSED)
                if call is not None and means_something(op, example, dtype):
                    found += 1
                    yield example


def names_sizes(op: Op) -> bool:
    """Whether an option of an op is a shape."""
    return any(p.annotation in _SHAPES for p in op.rest)


def only(size: int, length: int) -> Sizing:
    """One size as long as that, all others as they are named."""
    return Sizing(lambda n: length if n == size > 1 else n)


def followed(op: Op, call: Case | None, sizing: Sizing) -> Case | None:
    """The call with the sizes that its options name as they are drawn."""
    if call is None:
        return None
    shapes = {p.name for p in op.rest if p.annotation in _SHAPES}

    def of(name: str, value: Any) -> Any:
        if name in shapes and isinstance(value, tuple):
            return tuple(sizing(n) for n in value)
        return value

    args = tuple(of(n, v) for n, v in zip(op.names, call.args, strict=False))
    return Case(args, {k: of(k, v) for k, v in call.kwargs.items()})


__all__ = ["followed", "following", "names_sizes", "only"]
