"""Calls with one long size, along each dim, and with sizes of whole tiles."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance import laws  # noqa: F401  registers them
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.examples import examples
from dovetail.conformance.sizes import SMALL_TILE
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import BALANCED, ORDINARY
from dovetail.engine.op import vocabulary

_LONG = 1000


def plain(name: str, dtype: dt.dtype, values: str = ORDINARY) -> list[Example]:
    """The calls of an op at `standard` whose arrays lie in rows."""
    found = examples(Subject("cpu"), vocabulary[name], dtype, BUDGETS["standard"])
    return [e for e in found if (e.layout, e.values) == (PLAIN, values)]


@pytest.mark.parametrize("name", ["sum", "amax", "softmax", "cumsum", "sort", "gather"])
@pytest.mark.parametrize("dtype", [dt.float16, dt.float32, dt.int64])
def test_each_dim_is_gone_along_where_it_is_long(name: str, dtype: dt.dtype) -> None:
    """The first, a middle one and the last."""
    op = vocabulary[name]
    if dtype not in op.accepts:
        pytest.skip("takes no such numbers")
    long = set()
    for call in plain(name, dtype):
        assert call.case is not None
        given = dict(zip(op.names, call.case.args, strict=False)) | call.case.kwargs
        shape, dim = given[op.names[0]].shape, given.get("dim")
        dims = dim if isinstance(dim, tuple) else (dim,)
        if len(dims) == 1 and isinstance(dims[0], int) and len(shape) > 1:
            d = dims[0] % len(shape)
            if shape[d] > _LONG:
                long.add((len(shape), d))
    ranks = {rank for rank, _ in long}
    assert any({(rank, d) for d in range(rank)} <= long for rank in ranks), long


@pytest.mark.parametrize("name", ["matmul", "softmax", "sum"])
def test_long_calls_are_made_of_what_lies_column_by_column(name: str) -> None:
    """Of the same values, so that the oracle is asked once."""
    found = examples(Subject("cpu"), vocabulary[name], dt.float32, BUDGETS["standard"])
    rows = [e for e in found if e.layout == PLAIN and "truth" in e.known]
    long = [
        e for e in found if max(n for a in e.arrays() for n in (1, *a.shape)) > _LONG
    ]
    turned = [
        e for e in long if e.layout == "transposed"
        and any(e.known.get("truth") is other.known["truth"] for other in rows)
    ]  # fmt: skip
    assert len(turned) > 2


@pytest.mark.parametrize("name", ["matmul", "linear", "bmm", "convolution"])
def test_each_two_sizes_are_whole_tiles(name: str) -> None:
    """Of the inner sizes of products any two, and the rows as well."""
    met = set()
    for call in plain(name, dt.float32):
        a, b = [a.shape for a in call.arrays()][:2]
        places = {"a": a, "b": b}
        whole = [
            (operand, d - len(shape))
            for operand, shape in places.items()
            for d, n in enumerate(shape) if n and n % SMALL_TILE == 0
        ]  # fmt: skip
        met |= set(itertools.combinations(whole, 2))
    if name == "convolution":  # channels of the input, and those of the result
        wanted = {(("a", -3), ("b", -4))}
    elif name == "linear":
        wanted = {(("a", -2), ("b", -2)), (("a", -1), ("b", -2))}
    else:
        wanted = {(("a", -2), ("a", -1)), (("a", -1), ("b", -1))}
    assert wanted <= met


@pytest.mark.parametrize("name", ["matmul", "linear"])
def test_halves_of_long_products_leave_the_format(name: str) -> None:
    """Of a long product of float16 half the terms do, and all of them do not."""
    for call in plain(name, dt.float16, BALANCED):
        a, b = (x.astype(np.float64) for x in list(call.arrays())[:2])
        if a.ndim == 2 and b.ndim == 2 and a.shape[-1] > _LONG:
            b = b.T if name == "linear" else b
            half = a.shape[-1] // 2
            part, whole = a[:, :half] @ b[:half], a @ b
            if np.abs(part).max() > 65504 > np.abs(whole).max():
                return
    pytest.fail("no such call")
