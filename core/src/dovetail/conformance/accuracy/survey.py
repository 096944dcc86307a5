"""The accuracy of every op on a device, one row for each op and dtype."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail.conformance.accuracy.beside_torch import Beside
from dovetail.conformance.accuracy.errors import Figures, figures, ulps
from dovetail.conformance.accuracy.sweep import sweep
from dovetail.conformance.accuracy.truth import NoTruth, Rounded, precise
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.example import Example
from dovetail.conformance.examples import examples
from dovetail.conformance.formats import limits
from dovetail.conformance.meaning import REFUSALS
from dovetail.conformance.oracle import ask, truth, wide
from dovetail.conformance.subject import Subject
from dovetail.dtypes import Array, DType, float64, from_numpy
from dovetail.engine.cases import Case
from dovetail.engine.op import Op, declared
from dovetail.errors import DovetailError

DTYPES: Final = (
    dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.complex64,
)  # fmt: skip
POINTS: Final = 2000
_LARGEST: Final = 1 << 12  # elements of a call that mpmath is asked about
_CALLS: Final = 24
SWEEP, CASES = "sweep", "cases"


@dataclass(frozen=True, slots=True)
class Row:
    """One op in one dtype.

    Attributes:
        how: what ran it: a native kernel, or the op's body.
        over: a sweep of arguments, or drawn cases.
        unit: whose unit in the last place counts: the result's, or that of the terms
            which the result is a sum of.
        torch: torch's figures on the same calls.
        name: torch's name of the op.
        note: why there are no figures.
    """

    op: str
    dtype: str
    how: str
    over: str
    unit: str
    ours: Figures | None
    torch: Figures | None
    name: str
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "op": self.op, "dtype": self.dtype, "how": self.how, "over": self.over,
            "unit": self.unit, "ours": self.ours and self.ours.to_json(),
            "torch": self.torch and self.torch.to_json(), "torch_name": self.name,
            "note": self.note,
        }  # fmt: skip


def rounds(op: Op) -> bool:
    """Whether an op has results of its own that are rounded."""
    moves = op.unrounded or op.view or op.memory or op.draws
    return bool(not moves and op.oracle and any(d in op.accepts for d in DTYPES))


def planned(
    subject: Subject, ops: str = "*", wanted: Sequence[DType] = DTYPES
) -> list[tuple[Op, DType]]:
    """What is measured: ops that round, in the dtypes that the device has."""
    return [
        (op, dtype)
        for op in declared()
        if rounds(op) and any(fnmatchcase(op.name, g.strip()) for g in ops.split(","))
        for dtype in wanted
        if dtype in op.accepts and subject.claims(dtype) and _is_made_of(op, dtype)
    ]


def _is_made_of(op: Op, dtype: DType) -> bool:
    """Whether a call in a dtype has results that are rounded; predicates have none."""
    result = op.result
    return not (isinstance(result, DType) and not result.is_inexact)


def measured(
    subject: Subject, op: Op, dtype: DType, points: int, beside: Beside | None
) -> Row:
    """The row of an op in a dtype."""
    swept = op.is_elementwise and not (op.has_list or op.mutates)
    calls = _swept(op, dtype, points) if swept else _drawn(subject, op, dtype)
    by_terms = (op.sums or op.cancels) and (not swept or len(op.tensors) > 2)
    run = _Run(subject, op, dtype, by_terms)
    note = ""
    try:
        with np.errstate(all="ignore"):
            for label, case in calls:
                run.call(label, case, beside)
    except DovetailError as error:
        note = str(error)
    if not (run.ours or note):
        note = "its oracle computes in doubles"
    found = beside.function(op) if beside and run.theirs else None
    return Row(
        op.name, dtype.name, str(subject.how(op, dtype)), SWEEP if swept else CASES,
        "terms" if by_terms else "result",
        None if note else figures(run.ours, run.told),
        None if note or not run.theirs else figures(run.theirs, run.told_theirs),
        found[0] if found else "", note,
    )  # fmt: skip


class _Run:
    """The calls of an op in a dtype, and the errors of their results."""

    def __init__(self, subject: Subject, op: Op, dtype: DType, by_terms: bool) -> None:
        self.subject, self.op, self.dtype, self.by_terms = subject, op, dtype, by_terms
        self.ours: list[Array] = []
        self.theirs: list[Array] = []
        self._calls: list[tuple[str, Case]] = []
        self._their_calls: list[tuple[str, Case]] = []

    def call(self, label: str, case: Case, beside: Beside | None) -> None:
        """Make a call, here and in torch."""
        op, dtype, example = self.op, self.dtype, Example(case)
        try:
            wanted = self._truth(case, example)
        except NoTruth:
            return
        made = [self.subject.values(y) for y in self.subject.run(op, example, dtype)]
        theirs = beside and beside.results(op, case)
        for at, (got, want) in enumerate(zip(made, wanted, strict=False)):
            kind = from_numpy(got.dtype)
            if not kind.is_inexact or got.shape != want.high.shape or not got.size:
                continue
            size = _terms(op, case, dtype, at, got) if self.by_terms else None
            self.ours.append(ulps(got, want, kind, size))
            self._calls.append((label, case))
            other = theirs[at] if theirs and at < len(theirs) else None
            if other is None or (other.dtype, other.shape) != (got.dtype, got.shape):
                continue
            self.theirs.append(ulps(other, want, kind, size))
            self._their_calls.append((label, case))

    def _truth(self, case: Case, example: Example) -> list[Rounded]:
        """In mpmath's numbers; in doubles where those have digits to spare."""
        doubles = truth(self.op, example, self.dtype)
        try:
            known = precise(self.op, case, self.dtype)
            return [self._rounded(w, d) for w, d in zip(known, doubles, strict=True)]
        except NoTruth:
            if self.dtype.real is float64:
                raise
            return [Rounded.of_doubles(w) for w in doubles]

    def _rounded(self, known: Array, double: Array) -> Rounded:
        """One result; as numbers, complex ones do not come apart into their parts."""
        is_complex = double.dtype.kind == "c"
        if self.dtype.is_complex and not is_complex:
            return Rounded.of_doubles(double)
        return Rounded(known, is_complex).where(~np.isnan(double))

    def told(self, number: int, at: int) -> str:
        """A call in words."""
        return told(self.op, *self._calls[number], self.ours[number].shape, at)

    def told_theirs(self, number: int, at: int) -> str:
        """The same of a call of torch's."""
        return told(self.op, *self._their_calls[number], self.theirs[number].shape, at)


def _terms(op: Op, case: Case, dtype: DType, at: int, got: Array) -> Array:
    """How large the terms of each result are together.

    Where the definition cancels, and of each element, the largest input is one. So it
    is alone where the oracle refuses magnitudes: a matrix of them may be singular.
    """

    def magnitude(value: Any, name: str) -> Any:
        if isinstance(value, list):
            return [magnitude(v, name) for v in value]
        if isinstance(value, np.ndarray) and from_numpy(value.dtype).is_inexact:
            return np.abs(wide(value)).astype(value.dtype)
        return abs(value) if name in op.scalars else value

    args = zip(case.args, op.names, strict=False)
    kwargs = {k: magnitude(v, k) for k, v in case.kwargs.items()}
    positive = Case(tuple(magnitude(v, name) for v, name in args), kwargs)
    total = found = np.zeros(got.shape)
    with suppress(*REFUSALS):
        total = np.abs(ask(op, Example(positive), dtype)[at])
    if total.shape == got.shape:
        found = np.where(np.isnan(total), 0.0, total)
    if op.is_elementwise or op.cancels:
        for a in Example(positive).arrays():
            if from_numpy(a.dtype).is_inexact and a.size:
                size = np.abs(wide(a))
                found = np.maximum(found, size if op.is_elementwise else size.max())
    return found


def told(op: Op, label: str, case: Case, shape: tuple[int, ...], at: int) -> str:
    """The arguments of an element of a sweep; of other calls, their shapes."""
    given = dict(zip(op.names, case.args, strict=False)) | case.kwargs
    parts = []
    for name, value in given.items():
        if isinstance(value, np.ndarray) and value.shape == shape and len(shape) == 1:
            parts.append(_number(value[at]))
        elif isinstance(value, np.ndarray):
            parts.append(f"{name}{list(value.shape)}")
        elif isinstance(value, list) and any(isinstance(v, np.ndarray) for v in value):
            parts.append(f"{name} of {len(value)}")
        elif value is not None:
            parts.append(f"{name}={value}")
    return label + ", ".join(parts)


def _number(value: Any) -> str:
    """As short as tells it from its neighbours."""
    if np.iscomplexobj(value):
        return str(value)
    return (
        str(value)
        if isinstance(value, np.bool_)
        else np.format_float_scientific(value, trim="-")
        if value.dtype.itemsize > 2
        else f"{float(value):g}"
    )


def _swept(op: Op, dtype: DType, points: int) -> Iterator[tuple[str, Case]]:
    for case in sweep(op, dtype, points):
        yield "", case


def _drawn(subject: Subject, op: Op, dtype: DType) -> Iterator[tuple[str, Case]]:
    """The kit's calls of finite numbers, as far as mpmath gets through them."""
    count = 0
    drawn = examples(subject, op, dtype, BUDGETS["standard"])
    for number, example in enumerate(drawn):
        arrays = example.arrays()
        if example.case is None or not all(_modest(a, dtype) for a in arrays):
            continue
        if sum(a.size for a in arrays) <= _LARGEST:
            yield f"#{number} ", example.case
            count += 1
        if count == _CALLS:
            return


def _modest(a: Array, dtype: DType) -> bool:
    """Whether numbers are finite, and so are their products."""
    if not from_numpy(a.dtype).is_inexact:
        return True
    most = math.sqrt(float(limits(dtype.real).max))
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(a.astype(np.complex128)) <= most))


__all__ = ["CASES", "DTYPES", "POINTS", "SWEEP", "Row", "measured", "planned"]
