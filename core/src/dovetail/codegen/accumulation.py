"""Loops that add up: level by level, so that what is small meets no large sum soon."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final, Literal

from dovetail.codegen.ir import FLOATS, SIZES, Accumulator, Loop, Statement, Update
from dovetail.codegen.program import Program
from dovetail.codegen.values import Term, apply, constant, index
from dovetail.errors import NotSupported

BLOCK: Final = 16
"""Elements that are added one by one before their sum is added to others."""
_SHIFT: Final = BLOCK.bit_length() - 1

Combine = Literal["add", "mul", "maximum", "minimum"]
_COMBINES: Final[dict[str, Combine]] = {"sum": "add", "amax": "maximum", "prod": "mul"}

Sums = list[Accumulator]


@dataclass(frozen=True, slots=True)
class Level:
    """A loop over a reduced dim: the numbers `index` from `first` up to `end`."""

    dim: int
    first: Term
    end: Term
    index: Term = field(default_factory=lambda: index("along"))


def accumulators(program: Program, reductions: Sequence[int]) -> Sums:
    """One for each reduction of a program.

    Raises:
        NotSupported: kernels cannot hold what it gathers.
    """
    return [_accumulator(program, at) for at in reductions]


def _accumulator(program: Program, at: int) -> Accumulator:
    step = program.step(at)
    assert step is not None
    return accumulator(_COMBINES[step.op], step.dtype)


def accumulator(combine: Combine, dtype: str) -> Accumulator:
    """One that starts with what changes nothing.

    Raises:
        NotSupported: kernels cannot hold what it gathers.
    """
    if dtype not in SIZES or dtype == "bool":
        raise NotSupported(
            "kernel", was=f"asked to gather {dtype}", needed="numbers that it knows"
        )
    if combine in ("add", "mul"):
        return Accumulator(combine, dtype, 0 if combine == "add" else 1)
    least, greatest = _bounds(dtype)
    return Accumulator(combine, dtype, least if combine == "maximum" else greatest)


def _bounds(dtype: str) -> tuple[float, float]:
    """The least and the greatest number of a dtype."""
    if dtype in FLOATS:
        return -math.inf, math.inf
    bits = 8 * SIZES[dtype]
    if dtype.startswith("u"):
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def met(parts: Sequence[Accumulator]) -> Term:
    """What several have gathered, as one value."""
    return reduce(
        lambda a, b: apply(parts[0].combine, a, b), [Term(p.value) for p in parts]
    )


def updates(into: Sums, parts: Sums) -> list[Statement]:
    """Let accumulators take what others have gathered."""
    return [Update(a, p.value) for a, p in zip(into, parts, strict=True)]


def blocked(
    levels: Sequence[Level], make: Callable[[], Sums],
    innermost: Callable[[Sums], list[Statement]],
) -> tuple[Loop, Sums]:  # fmt: skip
    """Loops over one level or more, each with sums of its own; the outermost's.

    The innermost one goes block by block.

    Args:
        make: gives new accumulators.
        innermost: the statements that add to what it is given.
    """
    level, sums = levels[0], make()
    if len(levels) > 1:
        inner, parts = blocked(levels[1:], make, innermost)
        body = [inner, *updates(sums, parts)]
        return _over(level, level.first, level.end, body, sums), sums
    block, parts = index("block"), make()
    first = level.first + (block << _SHIFT)
    end = apply("minimum", first + BLOCK, level.end)
    blocks = apply("shift_right", level.end - level.first + (BLOCK - 1), _SHIFT)
    body = [_over(level, first, end, innermost(parts), parts), *updates(sums, parts)]
    zero = constant(0, "int64").value
    return Loop("seq", block.value, zero, blocks.value, tuple(body), tuple(sums)), sums


def _over(
    level: Level, first: Term, end: Term, body: list[Statement], sums: Sums
) -> Loop:
    return Loop(
        "seq", level.index.value, first.value, end.value, tuple(body), tuple(sums)
    )
