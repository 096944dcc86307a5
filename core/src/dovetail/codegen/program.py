"""What an op computes, as elementary steps."""

from __future__ import annotations

from typing import Any, NamedTuple


class Number(NamedTuple):
    """A number of a dtype among operands."""

    value: Any
    dtype: str


FULL, ROW, SHARED, ONE = "full", "row", "shared", "one"
"""What there is of a value in a program on rows: one an element, one a row, one a lane
for all rows, one."""


class Step(NamedTuple):
    """One elementary operation, or the sum or maximum of each row.

    Attributes:
        op: its name, as the vocabulary has it.
        operands: numbers of values, or `Number`s; None for what was left out.
        dtype: of the result.
        extent: what there is of the result, in a program on rows.
    """

    op: str
    operands: tuple[Any, ...]
    dtype: str
    extent: str = FULL


class Program(NamedTuple):
    """Steps in order; inputs are the first values, then each step makes one.

    Attributes:
        inputs: a dtype each, None for an input that was left out.
        results: numbers of values, or `Number`s, each with its dtype.
        extents: what there is of each input, in a program on rows.
    """

    inputs: tuple[str | None, ...]
    steps: tuple[Step, ...]
    results: tuple[tuple[Any, str], ...]
    extents: tuple[str | None, ...] = ()
