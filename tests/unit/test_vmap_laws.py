"""Batching follows from what ops declare: `vmap(f)` is the stack of `f` over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance.example import Example
from dovetail.conformance.subject import Subject
from dovetail.engine.cases import cases_of
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
    dtype = F64 if F64 in op.accepts else next(iter(sorted(op.accepts, key=str)))
    case = next(iter(cases_of(op, dtype)), None)
    if case is None:
        return None
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
    if op.shape is DATA:
        with pytest.raises(NotSupported, match=op.name):
            dt.vmap(call)(*batches)
        return
    each = [taken_apart(call(*[b[i] for b in batches]))[0] for i in range(ROWS)]
    wanted = tuple(dt.stack(list(column)) for column in zip(*each, strict=True))
    _same(tuple(taken_apart(dt.vmap(call)(*batches))[0]), wanted)


@pytest.mark.slow
@pytest.mark.parametrize(
    "op", [op for op in OPS if len(op.tensors) > 1 and op.shape is not DATA],
    ids=lambda op: op.name,
)  # fmt: skip
def test_what_is_not_mapped_is_the_same_for_all_rows(op: Op) -> None:
    """An op whose first tensor alone has rows gives what it gives row by row."""
    made = _call(op)
    if made is None:
        return
    call, (first, *others) = made
    batch = _rows(first)
    each = [taken_apart(call(row, *others))[0] for row in batch.unbind()]
    wanted = tuple(dt.stack(list(column)) for column in zip(*each, strict=True))
    dims = (0, *(None for _ in others))
    _same(tuple(taken_apart(dt.vmap(call, dims)(batch, *others))[0]), wanted)
