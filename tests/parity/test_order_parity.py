"""Order, searching, distinct values and scans beside torch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.parity import Call, agrees, agrees_in_gradient, both_refuse

import dovetail as dt

RNG = np.random.default_rng(11)
X = RNG.normal(size=(3, 4, 5)).astype(np.float32)
WHOLE = RNG.integers(-3, 4, (4, 7))
NANS = np.asarray(
    [[2, np.nan, -1, np.inf, np.nan, 0], [1, 1, -np.inf, 0, 3, 3]], np.float32
)
ROW = np.asarray([1, 3, 3, 5, 9], np.float32)
ROWS = np.sort(RNG.normal(size=(3, 6)).astype(np.float32), -1)
ZEROS = np.asarray([[1, 0, 2, 3], [0, 4, 0, 2], [2, 3, 1, 1]], np.float32)

CALLS: list[Call] = [
    *(
        Call("sort", a, dim=d, descending=v, stable=True)
        for a in (X, WHOLE, NANS, WHOLE.astype("uint8"), WHOLE > 0)
        for d in (0, -1)
        for v in (False, True)
    ),
    *(Call("argsort", a, stable=True) for a in (X, WHOLE, NANS)),
    Call("sort", X),
    Call("sort", np.float32(3)),
    Call("msort", X),
    Call("sort", X[:0]),
    *(Call("topk", X, k, d, g) for k in (1, 3) for d in (-1, 0) for g in (True, False)),
    Call("topk", RNG.permutation(100).astype("int64"), 4),
    Call("kthvalue", X, 2, 1),
    Call("topk", RNG.permutation(100).astype("f4"), 4, -1, False),
    Call("kthvalue", X, 3, keepdim=True),
    Call("median", WHOLE, 1),
    *(
        Call("cumsum", a, d)
        for a in (X, WHOLE, WHOLE.astype("uint8"), WHOLE > 0)
        for d in (0, 1)
    ),
    *(Call("cumprod", a, 1) for a in (X, ZEROS, WHOLE)),
    Call("cumsum", X, 0, dtype="float64"),
    *(Call(n, a, -1) for n in ("cummax", "cummin") for a in (X, WHOLE, NANS)),
    Call("logcumsumexp", X, 1),
    Call("logcumsumexp", NANS[1:], 1),
    Call("cumsum", np.float32(2), 0),
    *(Call("diff", a, n, d) for a in (X, WHOLE) for n in (1, 2, 9) for d in (0, -1)),
    Call("diff", ROW, prepend=ROW[:2], append=ROW[:1]),
    Call("diff", WHOLE > 0),
    *(
        Call(n, ROW, method=False)
        for n in ("trapezoid", "trapz", "cumulative_trapezoid")
    ),
    Call("trapezoid", X, dx=0.5, dim=1, method=False),
    Call("trapezoid", ROWS, ROWS, method=False),
    *(
        Call(
            "searchsorted",
            ROW,
            np.asarray([[0, 3, 4], [9, 10, 1]], np.float32),
            method=False,
            **kw,
        )
        for kw in ({}, {"right": True}, {"side": "right"}, {"out_int32": True})
    ),
    Call("searchsorted", ROWS, X[0, :3], method=False),
    Call("searchsorted", ROW, 3, method=False),
    Call("bucketize", X, ROW, method=False),
    Call("bucketize", X, ROW, right=True, method=False),
    Call("isin", WHOLE, np.asarray([1, 2]), method=False),
    Call("isin", WHOLE, 2, invert=True, method=False),
    *(
        Call("unique", WHOLE, return_inverse=True, return_counts=True, dim=d)
        for d in (None, 0, 1)
    ),
    *(Call("unique", (WHOLE > 0)[:, :2], dim=d, return_counts=True) for d in (0, 1)),
    *(Call("unique_consecutive", np.sort(WHOLE, 1), True, True, d) for d in (None, 0)),
    Call("unique", NANS),
    Call("unique", X[:0]),
]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_values(call: Call) -> None:
    """Results have torch's values, shapes and dtypes, as functions and as methods."""
    agrees(call)


GRADIENTS = [
    c
    for c in CALLS
    if c.array.dtype == np.float32
    and not np.isnan(c.array).any()
    and c.array.size
    and c.name
    in (
        "sort",
        "topk",
        "kthvalue",
        "cumsum",
        "cumprod",
        "cummax",
        "cummin",
        "logcumsumexp",
        "diff",
        "trapezoid",
        "cumulative_trapezoid",
        "msort",
    )
]


@pytest.mark.parametrize("call", GRADIENTS, ids=str)
def test_gradients(call: Call) -> None:
    """Gradients are torch's, zeros among factors included."""
    agrees_in_gradient(call)


@pytest.mark.parametrize(
    "call",
    [
        Call("sort", X, 3),
        Call("topk", X, 6),
        Call("topk", X, -1),
        Call("kthvalue", X, 0),
        Call("cumsum", X, 3),
        Call("diff", np.float32(1)),
        Call("cumsum", X),
        Call("searchsorted", ROWS, X, method=False),
        Call("sort", X.astype("complex64")),
        Call("bucketize", X, ROWS, method=False),
        Call("searchsorted", ROW, ROW, side="up", method=False),
    ],
    ids=str,
)
def test_refusals(call: Call) -> None:
    """What torch refuses is refused, with an error that its users catch."""
    both_refuse(call)


def test_results_are_named() -> None:
    """`values` and `indices` are there by name, and by place."""
    values, indices = dt.tensor(ROW).sort(descending=True)
    found = dt.tensor(ROW).max(0)
    assert found.values.item() == 9.0
    assert found.indices.item() == 4
    assert values.tolist() == [9, 5, 3, 3, 1]
    assert sorted(indices.tolist()) == [0, 1, 2, 3, 4]


def test_in_place_scan() -> None:
    """`cumsum_` writes into the tensor."""
    x = dt.tensor(ROW)
    assert x.cumsum_(0) is x
    assert x.tolist() == [1, 4, 7, 12, 21]
