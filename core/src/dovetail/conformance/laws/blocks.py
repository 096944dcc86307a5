"""Calls larger than oracles have time for: where kernels work in blocks, and in SIMD.

Oracles in exact arithmetic are asked of some tens of elements. Here an op's body says
what is right, in double precision; what kernels forget between blocks is no rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import numpy as np

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.budget import Budget
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.agreement import judged, named
from dovetail.conformance.laws.definition import run_body
from dovetail.conformance.meaning import REFUSALS, means_something
from dovetail.conformance.operands import operand_shapes
from dovetail.conformance.options import Options
from dovetail.conformance.oracle import ask
from dovetail.conformance.reference import reference
from dovetail.conformance.sensitivity import partial_products_leave
from dovetail.conformance.sizes import AS_NAMED, has_size, named_shapes, sizes_for
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import ORDINARY
from dovetail.conformance.verdicts import How
from dovetail.dtypes import Array, DType, complex128, float64
from dovetail.engine.cases import Case, case
from dovetail.engine.op import Op
from dovetail.engine.results import DATA

_ELEMENTS: Final = 1 << 12  # matrices of 64 rows
_FEWEST: Final = 36  # of what an oracle does, below which bodies take many sweeps
_SWEPT: Final = 1 << 8  # elements of those
_CALLS: Final = 2
_OTHERS: Final = 2  # calls with options of their own
_SPARE: Final = 16  # of the largest number; what is on the way beyond it may leave
_NUMBER: Final = 2  # of a way to size a call: sizes that are no multiples of a block's


def _fits(subject: Subject, op: Op, dtype: DType) -> bool:
    few = op.largest is not None and op.largest < _ELEMENTS
    if not few or op.oracle is None or op.shape is DATA or not dtype.is_inexact:
        return False
    native = subject.how(op, dtype) is How.NATIVE
    return native and dtype not in op.primitive and bool(_large(op, dtype))


def _calls(subject: Subject, op: Op, dtype: DType, budget: Budget) -> list[Example]:
    return [*_large(op, dtype)]


@lru_cache(maxsize=8)
def _large(op: Op, dtype: DType) -> tuple[Example, ...]:
    """The first of the op's cases that get as large, one with others' options."""
    assert op.largest is not None
    size = str(_ELEMENTS if op.largest >= _FEWEST else _SWEPT)
    grown = list(_grown(op, dtype, size))
    found = list(islice(_meant(op, dtype, size, grown), _CALLS))
    if found and found[0].case is not None:
        others = _meant(op, dtype, size, _with_options(op, found[0].case, grown))
        # What an oracle refuses with some options is left open with them.
        more = (e for e in others if means_something(op, e, dtype))
        found += islice(more, _OTHERS)
    return tuple(found)


def _meant(op: Op, dtype: DType, size: str, calls: Iterable[Case]) -> Iterator[Example]:
    for number, call in enumerate(calls):
        example = Example(call, size=size, known={"at": number})
        if _means(op, example, dtype):
            yield example


def _with_options(op: Op, call: Case, others: Iterable[Case]) -> Iterator[Case]:
    """The call with the options of other ones, each of these once."""
    names = [p.name for p in op.rest]
    met = [_options(op, call)]
    for other in others:
        options = _options(op, other)
        if options not in met:
            met.append(options)
            values = dict(zip(names, options, strict=True))
            yield Options(op, 0, values).applied(call)


def _options(op: Op, call: Case) -> list[Any]:
    given = dict(zip(op.names, call.args, strict=False)) | call.kwargs
    return [given.get(p.name, p.default) for p in op.rest]


def _grown(op: Op, dtype: DType, size: str) -> Iterator[Case]:
    if op.cases is None:
        make = Varied(op, dtype, ORDINARY, AS_NAMED, _NUMBER)
        yield case(*(make(*s) for s in operand_shapes(len(op.tensors), size, _NUMBER)))
        return
    for number, shapes in enumerate(named_shapes(op, dtype)):
        sizing = sizes_for(size, shapes, _NUMBER)
        make = Varied(op, dtype, ORDINARY, sizing, number)
        call = chosen_case(op, make, number)
        if call is not None and has_size(
            size, [a.shape for a in Example(call).arrays()]
        ):
            yield call


def _means(op: Op, example: Example, dtype: DType) -> bool:
    """Whether the op takes the call, and rounding chooses none of its results."""
    try:
        results = Subject("meta").run(op, Example(example.case), dtype)
    except REFUSALS:
        return False
    double = dtype.real is float64
    rounded = double or all(y.dtype.is_inexact for y in results)
    return rounded and (not op.multiplies or _stays(op, example, dtype))


def _stays(op: Op, example: Example, dtype: DType) -> bool:
    """Whether half of the products of so many factors are within the format."""
    found = [_within(y, dtype) for y in ask(op, example, dtype)]
    return all(np.mean(y) >= 0.5 for y in found)


def _within(a: Array, dtype: DType) -> Array:
    """Where numbers are in the range of a format, and what is on the way to them."""
    with np.errstate(all="ignore"):
        return np.asarray(np.abs(a) <= float(limits(dtype.real).max) / _SPARE)


@law("blocks", examples=_calls, fits=_fits, rank=60, shrinks=False, depth=4)
def blocks(trial: Trial) -> None:
    """Calls too large for an oracle come near to the op's body in double precision.

    As near as half of the digits of a format, whatever the conditioning of a call.
    """
    op, dtype = judged(trial)
    got = trial.subject.run(op, trial.example, dtype)
    wide = complex128 if dtype.is_complex else float64
    args, kwargs = reference().arguments(op, _widened(trial.example, dtype, wide), wide)
    want = run_body(op, args, kwargs)
    if len(got) != len(want):
        raise Wrong(f"{len(got)} results, the body has {len(want)}")
    for at, (y, right) in enumerate(zip(got, want, strict=True)):
        found = trial.subject.values(y)
        left = np.zeros(found.shape, bool)
        if op.multiplies:  # and factors leave the format in one order or another
            left = partial_products_leave(op, trial.example, dtype, at, found, dtype)
        _near(named(op, at), found, reference().values(right), dtype, left)


def _widened(example: Example, dtype: DType, wide: DType) -> Example:
    def of(value: Any) -> Any:
        if isinstance(value, list):
            return [of(v) for v in value]
        own = isinstance(value, np.ndarray) and value.dtype == dtype.numpy
        return value.astype(wide.numpy) if own else value

    call = example.case
    assert call is not None
    kwargs = {k: of(v) for k, v in call.kwargs.items()}
    return Example(Case(tuple(map(of, call.args)), kwargs), size=example.size)


def _near(name: str, got: Array, want: Array, dtype: DType, left: Array) -> None:
    """Refuse what is off; `left` is what the definition leaves open."""
    if got.shape != want.shape:
        raise Wrong(f"{name} is of shape {got.shape}, needed {want.shape}")
    with np.errstate(all="ignore"):
        kept = _within(want, dtype)
        size = float(np.max(np.abs(want), where=kept, initial=0))
        room = float(limits(dtype.real).eps) ** 0.5 * size
        right = left | ~kept | (np.abs(got.astype(want.dtype) - want) <= room)
    if not np.all(right):
        at = np.unravel_index(int(np.argmin(right)), got.shape)
        raise Wrong(f"{name}{[*map(int, at)]} is {got[at]}, the body's is {want[at]}")
