"""Reductions and statistics beside torch: values, dtypes, gradients, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.support.parity import Call, agrees, agrees_in_gradient, both_refuse

import dovetail as dt

X = np.random.default_rng(7).normal(size=(2, 3, 4)).astype(np.float32)
TIES = np.asarray([[1, 3, 3, 0], [2, 2, 2, 2], [0, 0, 5, 0]], np.float32)
NANS = np.where(X > 1, np.nan, X).astype(np.float32)
FLAGS = TIES > 1
EMPTY = np.zeros((2, 0, 3), np.float32)

OVER_DIMS = [
    *({"dim": d, "keepdim": k} for d in (0, -1, (0, 2), [1]) for k in (False, True)),
    {},
]
SOME = ("sum", "mean", "amax", "amin", "nansum", "nanmean", "var", "std", "logsumexp")
CALLS: list[Call] = [
    *(Call(n, X, **kw) for n in SOME for kw in OVER_DIMS if n != "logsumexp" or kw),
    *(
        Call(n, TIES, **kw)
        for n in ("amax", "amin", "prod", "norm")
        for kw in ({}, {"dim": 1})
    ),
    *(
        Call(n, NANS, dim=1)
        for n in (*SOME, "max", "min", "median", "nanmedian", "argmax")
    ),
    *(
        Call(n, EMPTY, dim=1)
        for n in ("sum", "mean", "prod", "logsumexp", "all", "any")
    ),
    *(
        Call(n, X)
        for n in ("max", "min", "median", "argmax", "argmin", "aminmax", "prod")
    ),
    *(
        Call(n, X, 1, True)
        for n in ("max", "min", "median", "argmax", "argmin", "mode")
    ),
    *(Call(n, TIES, -1) for n in ("max", "min", "argmax", "argmin", "mode")),
    *(Call(n, TIES, dim=0, keepdim=True) for n in ("aminmax", "all", "any")),
    *(Call(n, X, X[::-1].copy()) for n in ("max", "min", "dist")),
    *(Call("norm", X, p, 1) for p in (0, 1, 2, 3, 0.5, math.inf, -math.inf)),
    *(Call("var", X, 1, correction=c) for c in (0, 2, 2.5)),
    Call("var", X, 0, False),
    Call("std", X, False),
    Call("std", X, 1, True, True),
    Call("var_mean", X, 2, keepdim=True),
    Call("std_mean", X),
    *(
        Call(n, TIES.astype(t), 1)
        for n in ("sum", "prod", "amax", "all", "any", "cumsum")
        for t in ("int32", "uint8", "bool", "int64", "float64")
    ),
    Call("sum", X, 1, dtype="float64"),
    Call("sum", X.astype("float64"), dtype="int64"),
    Call("mean", TIES.astype("int32"), dtype="float32"),
    Call("count_nonzero", TIES, 1),
    Call("count_nonzero", TIES),
    Call("sum", X, axis=1, keepdims=True),
    Call("sum", np.float32(3)),
    Call("max", np.float32(3), 0),
    Call("sum", X, ()),
    *(Call("quantile", X, 0.3, d, k) for d in (None, 1) for k in (False, True)),
    *(
        Call("quantile", X, np.asarray([0.0, 0.4, 1.0], np.float32), 2, interpolation=i)
        for i in ("linear", "lower", "higher", "nearest", "midpoint")
    ),
    Call("nanquantile", NANS, 0.6, 1),
    Call("quantile", NANS, 0.6, 1),
    Call("cov", X[0]),
    Call("cov", X[0], correction=0),
    Call("corrcoef", X[0]),
    Call("bincount", np.asarray([1, 0, 4, 1])),
    Call("bincount", np.asarray([2, 2]), minlength=5),
    Call("bincount", np.asarray([1, 2]), np.asarray([0.5, 2.0], np.float32)),
    Call("histc", X, 5),
    Call("histc", X, bins=4, min=-1, max=1),
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
    not in ("argmax", "argmin", "all", "any", "count_nonzero", "histc", "bincount")
    and str(c) != "norm(float32[2, 3, 4], 0, 1)"
]


@pytest.mark.parametrize("call", GRADIENTS, ids=str)
def test_gradients(call: Call) -> None:
    """Gradients are torch's, ties and zeros included."""
    agrees_in_gradient(call)


@pytest.mark.parametrize(
    "call",
    [
        Call("sum", X, 3),
        Call("sum", X, (0, 0)),
        Call("amax", EMPTY, 1),
        Call("max", EMPTY),
        Call("max", EMPTY, 1),
        Call("argmax", EMPTY),
        Call("mean", TIES.astype("int64")),
        Call("var", TIES.astype("int32")),
        Call("logsumexp", X),
        Call("quantile", X, 0.5, 4),
        Call("bincount", np.asarray([-1])),
        Call("bincount", X),
        Call("sum", X, "a"),
        Call("quantile", X, 0.5, interpolation="cubic"),
        Call("amax", X.astype("complex64")),
    ],
    ids=str,
)
def test_refusals(call: Call) -> None:
    """What torch refuses is refused, with an error that its users catch."""
    both_refuse(call)


@pytest.mark.parametrize("shape", [(100_000, 3), (50, 300, 4), (1_000_000,), (3001, 2)])
@pytest.mark.parametrize("value", [0.1, None])
def test_sums_stay_accurate(shape: tuple[int, ...], value: float | None) -> None:
    """Float32 sums err by no more than (8 + 2 sqrt n) u sum|x|, along any dim."""
    rng = np.random.default_rng(3)
    a = (rng.random(shape) if value is None else np.full(shape, value)).astype(
        np.float32
    )
    for dim in (*range(len(shape)), None):
        wide: Any = a.astype(np.float64).sum(dim)
        n = a.size / np.size(wide)
        bound = (8 + 2 * math.sqrt(n)) * 2.0**-24 * wide
        assert (np.abs(dt.tensor(a).sum(dim).numpy() - wide) <= bound).all()
