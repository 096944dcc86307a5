"""Batching follows from what ops declare: `vmap(f)` is the stack of `f` over rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance.example import Example
from dovetail.conformance.subject import Subject
from dovetail.dtypes import DType
from dovetail.engine.cases import Case, cases_of
from dovetail.engine.op import Op, declared
from dovetail.engine.results import DATA
from dovetail.engine.tensor import Tensor
from dovetail.errors import NotSupported
from dovetail.func.trees import put_together, taken_apart

ROWS = 3
F64 = dt.float64
# Phases and signs of factors are free; what `empty` holds is nobody's business.
FREE = {"eigen_hermitian", "empty", "singular_values"}


def _is_asked(op: Op) -> bool:
    return bool(op.tensors) and not op.mutates and op.draws is None


OPS = [op for op in declared() if _is_asked(op) and op.name not in FREE]


def _rows(x: Tensor) -> Tensor:
    """A batch: `x`, and others like it that ops accept where they accept `x`."""
    if x.dtype.is_inexact:
        return dt.stack([x, x * 0.75, x * 0.5])
    return dt.stack([x] * ROWS)


def _call(op: Op) -> tuple[Any, list[Tensor]] | None:
    """A call of an op as a function of its tensors, and these."""
    return next(_calls(op), None)


def _calls(op: Op) -> Iterator[tuple[Any, list[Tensor]]]:
    """Calls that differ in the words and switches that they choose."""
    dtype = F64 if F64 in op.accepts else next(iter(sorted(op.accepts, key=str)))
    seen = set()
    for case in cases_of(op, dtype):
        choices = [*case.args, *case.kwargs.values()]
        chosen = tuple(v for v in choices if isinstance(v, str | bool))
        if chosen in seen:
            continue
        seen.add(chosen)
        made = _called(op, case, dtype)
        if made is not None:
            yield made


def _called(op: Op, case: Case, dtype: DType) -> tuple[Any, list[Tensor]] | None:
    cpu = Subject("cpu")
    args, kwargs = cpu.arguments(op, Example(case), dtype)
    values, form = taken_apart((list(args), kwargs))
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    if not places:
        return None

    def call(*tensors: Tensor) -> Any:
        given = list(values)
        for at, x in zip(places, tensors, strict=True):
            given[at] = x
        own_args, own_kwargs = put_together(given, form)
        return op.function(*own_args, **own_kwargs)

    return call, [values[i] for i in places]


def _same(found: Any, wanted: Any) -> None:
    for y, row in zip(taken_apart(found)[0], taken_apart(wanted)[0], strict=True):
        assert y.dtype is row.dtype
        np.testing.assert_allclose(y.numpy(), row.numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_vmap_is_the_stack_over_rows(op: Op) -> None:
    """Every op, batched in all of its tensors, gives what it gives row by row."""
    made = _call(op)
    if made is None:
        return
    call, tensors = made
    batches = [_rows(x) for x in tensors]
    if op.shape is DATA and op.name != "bincount":  # which is as long as any row needs
        with pytest.raises(NotSupported, match=op.name):
            dt.vmap(call)(*batches)
        return
    each = [taken_apart(call(*[b[i] for b in batches]))[0] for i in range(ROWS)]
    wanted = tuple(dt.stack(list(column)) for column in zip(*each, strict=True))
    _same(tuple(taken_apart(dt.vmap(call)(*batches))[0]), wanted)


@pytest.mark.parametrize(
    "op", [op for op in OPS if len(op.tensors) > 1 and op.shape is not DATA],
    ids=lambda op: op.name,
)  # fmt: skip
def test_what_is_not_mapped_is_the_same_for_all_rows(op: Op) -> None:
    """An op of which one tensor alone has rows gives what it gives row by row."""
    for call, tensors in _calls(op):
        for at, x in enumerate(tensors):
            batch = _rows(x)

            def of_row(row: Tensor, at: int = at, call: Any = call) -> Any:
                return call(*tensors[:at], row, *tensors[at + 1 :])  # noqa: B023

            each = [taken_apart(of_row(row))[0] for row in batch.unbind()]
            wanted = tuple(dt.stack(list(column)) for column in zip(*each, strict=True))
            _same(tuple(taken_apart(dt.vmap(of_row)(batch))[0]), wanted)
