"""What an op computes, as elementary steps."""

from __future__ import annotations

from typing import Any, NamedTuple


class Number(NamedTuple):
    """A number of a dtype among operands."""

    value: Any
    dtype: str


class Step(NamedTuple):
    """One elementary operation.

    Attributes:
        op: its name, as the vocabulary has it.
        operands: numbers of values, or `Number`s; None for what was left out.
        dtype: of the result.
    """

    op: str
    operands: tuple[Any, ...]
    dtype: str


class Program(NamedTuple):
    """Steps in order; inputs are the first values, then each step makes one.

    Attributes:
        inputs: a dtype each, None for an input that was left out.
        results: numbers of values, or `Number`s, each with its dtype.
    """

    inputs: tuple[str | None, ...]
    steps: tuple[Step, ...]
    results: tuple[tuple[Any, str], ...]
