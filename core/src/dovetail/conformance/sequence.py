"""Calls of one op, one after the other, and all that can be seen of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.subject import Subject
from dovetail.dtypes import Array, DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor

# A call's results, or what it was refused with: the name of an exception's class.
Seen = list[Array] | str
REWRITTEN: Final = "rewritten"
STREAM: Final = "stream"


@dataclass(frozen=True, slots=True)
class Step:
    """One call.

    Attributes:
        differs: in what from the first call, in words.
        way: how it is made: `rewritten` gives the tensors of the first call, written
            over, to it; `stream` gives it to a stream of its own.
    """

    differs: str
    case: Case
    dtype: DType
    layout: str = PLAIN
    way: str = ""


def seen(subject: Subject, op: Op, steps: Sequence[Step]) -> list[Seen]:
    """What the calls give, made in that order, each looked at as soon as it is made."""
    return Sequel(subject, op).of(steps)


class Sequel:
    """Calls that are made in a row.

    Attributes:
        results: of every call so far, alive.
    """

    def __init__(self, subject: Subject, op: Op) -> None:
        self.subject = subject
        self.op = op
        self.results: list[list[Tensor]] = []
        self._first: tuple[list[Any], dict[str, Any]] | None = None

    def of(self, steps: Sequence[Step]) -> list[Seen]:
        """What the calls give; one that is refused is followed by the others."""
        return [self._one(step) for step in steps]

    def again(self) -> list[list[Array]]:
        """What the results of all calls hold now; nothing for refused ones."""
        return [self._values(results) for results in self.results]

    def _one(self, step: Step) -> Seen:
        try:
            made, values = self._made(step)
        except Exception as error:  # a refusal is the same in every process
            self.results.append([])
            return type(error).__name__
        self.results.append(made)
        return values

    def _made(self, step: Step) -> tuple[list[Tensor], list[Array]]:
        subject = self.subject
        with dt.Stream(subject.device) if step.way == STREAM else nullcontext():
            args, kwargs = self._arguments(step)
            made = subject.call(self.op, args, kwargs)
            return made, self._values(made)

    def _values(self, results: Sequence[Tensor]) -> list[Array]:
        return [self.subject.values(y) for y in results]

    def _arguments(self, step: Step) -> tuple[list[Any], dict[str, Any]]:
        example = Example(step.case, step.layout)
        given = self.subject.arguments(self.op, example, step.dtype)
        if self._first is None:
            self._first = given
        elif step.way == REWRITTEN:
            _write_over(self._first, given)
            given, self._first = self._first, None  # they are not the first's any more
        return given


def _write_over(old: tuple[Any, Any], new: tuple[Any, Any]) -> None:
    """Let the old tensors hold what the new ones do."""
    values = zip((*old[0], *old[1].values()), (*new[0], *new[1].values()), strict=True)
    for target, source in values:
        if isinstance(target, Tensor):
            target._kind.backend.copy(target._a, source._a)
        elif isinstance(target, list):
            _write_over((target, {}), (source, {}))


def same(a: Seen, b: Seen) -> bool:
    """Whether two looks at a call saw the same bits, or the same refusal."""
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return len(a) == len(b) and all(map(_same, a, b))


def _same(a: Array, b: Array) -> bool:
    alike = a.shape == b.shape and a.dtype == b.dtype
    return alike and np.ascontiguousarray(a).tobytes() == b.tobytes()
