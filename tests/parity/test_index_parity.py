"""Indexing, gathers, scatters and masks, beside torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail

Library = Any
SHAPE = (4, 3, 5)


def lines(text: str) -> list[str]:
    """The calls of a table."""
    return [
        c.strip() for line in text.splitlines() for c in line.split(" | ") if c.strip()
    ]


def names(
    library: Library, dtype: str = "float64", grad: bool = False
) -> dict[str, Any]:
    """What the calls of the tables speak of."""
    numbers = np.arange(60).reshape(SHAPE) - 20
    host = numbers % 3 == 0 if dtype == "bool" else numbers.astype(dtype)
    extra = (np.arange(60).reshape(SHAPE) % 7).astype(host.dtype)
    given = {
        "i": [2, 0, -1, 2], "j": [[1], [0]], "k": [0, -5, 3, 4], "e": np.zeros(0, int),
        "m": numbers % 2 == 0, "r": [True, False, True, True],
        "g": np.arange(24).reshape(2, 3, 4) % 4, "p": [3, 0, 1],
        "flat": [[0, 59], [-1, 7]],
    }  # fmt: skip
    tensors = {name: library.tensor(np.asarray(v)) for name, v in given.items()}
    x, y = (library.tensor(a, requires_grad=grad) for a in (host, extra))
    return {
        "T": library,
        "F": library.nn.functional,
        "np": np,
        "x": x,
        "y": y,
        **tensors,
    }


READS = """
x[i] | x[:, j % 3] | x[i, :, k] | x[i, 1] | x[i, :, None] | x[..., k] | x[1, :, k]
x[None, i, None] | x[i, i % 3, k] | x[j, i] | x[j, :, i] | x[:, 0][i, k] | x[m] | x[r]
x[r, 1:, k[:3]] | x[:, m[0]] | x[r, 0] | x[m[:, :, 0]] | x[e] | x[[0, 2]]
x[:, [2, 0], 1:3] | x[np.array([1, 1])] | x[T.tensor(1)] | x[True] | x[False]
x[:, True] | x[[]] | x[range(2)] | x[i, ..., 1:4:2] | x[-1, -1, -1]
x[(slice(1, 3), ..., 0)] | x[i.int()] | x[[True, False, True, False]] | x[i][:, [1]]
x[..., None, i, :1, :2] | x.gather(2, g.reshape(4, 3, 2)) | T.gather(x, 0, g)
x.index_select(0, p) | x.index_select(-1, p.int()) | T.take(x, flat)
x.masked_select(m) | T.take_along_dim(x, flat % 60)
T.take_along_dim(x, T.tensor([[[1]], [[-1]], [[0]], [[2]]]), 1)
T.masked_select(x, r[:, None, None]) | x.where(m, y) | T.where(m, x, y)
T.where(m, x, 1) | T.where(r[:, None, None], y, x) | x.select_scatter(y[:, 0], 1, -1)
T.slice_scatter(x, y[:, :, ::2], 2, 0, 5, 2) | x.diagonal_scatter(y[:3, 0].T)
F.embedding(p, x[:, 0], padding_idx=0)
"""
WRITES = """
x.scatter(0, g, y[:2, :, :4]) | x.scatter(2, g, 3) | x.scatter_add(0, g, y[:2, :, :4])
x.scatter_add(2, g, y[:2, :, :4]) | x.index_add(0, i % 4, y)
x.index_add(2, p, y[..., :3], alpha=2) | x.index_copy(0, p, y[:3])
x.index_fill(1, T.tensor([0, 2, 0]), 7) | x.index_put((i, i % 3), y[0, 0, :1])
x.index_put((p,), y[:3]) | x.index_put((i,), y, accumulate=True) | x.masked_fill(m, 3)
x.masked_fill(r[:, None, None], -1) | x.masked_scatter(m, y)
x.put(flat, y[:2, 0, :2]) | x.put(flat, y[:2, 0, :2], accumulate=True)
x.index_put((m,), y.reshape(-1)[:1])
x.index_put((r, T.tensor([0, 1, 1])), y[:3, 0], accumulate=True)
"""
REDUCED = """
x.scatter_reduce(0, g, y[:2, :, :4], "sum")
x.scatter_reduce(2, g, y[:2, :, :4], "prod")
x.scatter_reduce(0, g, y[:2, :, :4], "amax")
x.scatter_reduce(2, g, y[:2, :, :4], "amin")
x.scatter_reduce(0, g, y[:2, :, :4], "mean")
x.scatter_reduce(0, g, y[:2, :, :4], "prod", include_self=False)
x.scatter_reduce(2, g, y[:2, :, :4], "amin", include_self=False)
x.scatter_reduce(0, g, y[:2, :, :4], "mean", include_self=False)
x.scatter_reduce(0, g, y[:2, :, :4], "sum", include_self=False)
"""
STATEMENTS = """
x[0] = 9 | x[:, 1] = y[:, 0] | x[..., ::2] = 1 | x[i] = y[i] | x[p] = y[0]
x[p, :, 1] = 5 | x[j, :, p[:2]] = y[0, 0, :3] | x[m] = 7 | x[m] = y[m] | x[r] = y[:3]
x[r, 0] = y[0, 1] | x[None, 1:, None] = y[:3][None, :, None] | x[..., p] = y[..., :3]
x[1, 2, 3] = 4 | x[:] = y | x[1:3] = y[:1] | x[-1, [0, 2]] = y[0, :2] | x[True] = y
x[False] = 1 | x[e] = 5 | x[p] += y[p] | x[m] *= 2 | x[:, :, 0] = y[0, :, 0]
x[0] = y[None, None, 0] | x.index_fill_(0, p, 2) | x.masked_fill_(m, 4)
x.scatter_(0, g, 5) | x.scatter_add_(0, g, y[:2, :, :4]) | x.index_add_(0, p, y[:3])
x.index_copy_(0, p, y[:3]) | x.index_put_((p,), y[:3])
x.put_(flat, y[0, 0, :4].reshape(2, 2)) | x[1:, 0].index_fill_(0, p[1:], 3)
x[:2][r[:2]] = 6 | x.mT[0] = 1 | x[:, 0].fill_(y[0, 0, 0])
"""
WHOLE_NUMBERS = """
T.nonzero(x) | T.nonzero(x, as_tuple=True) | x.nonzero() | T.argwhere(x)
T.where(x > 0) | F.one_hot(g) | F.one_hot(p, 6) | T.nonzero(x[0, 0, 0])
"""


def same(ours: Any, theirs: Any, call: str) -> None:
    """Equal dtypes, shapes and values."""
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, call)
        return
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2], (
        call
    )
    assert tuple(ours.shape) == tuple(theirs.shape), (
        f"{call}: {ours.shape}, {theirs.shape}"
    )
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6, err_msg=call
    )


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_values(dtype: str) -> None:
    """Each call gives torch's values, in every category of dtypes."""
    calls = lines(READS) + lines(WHOLE_NUMBERS) * (dtype != "complex64")
    calls += lines(WRITES) * (dtype != "bool") + lines(REDUCED) * (dtype == "float32")
    for call in calls:
        if "3, y" in call and dtype == "bool":
            continue
        ours, theirs = (eval(call, names(t, dtype)) for t in (dovetail, torch))
        same(ours, theirs, call)


@pytest.mark.parametrize("call", lines(READS) + lines(WRITES) + lines(REDUCED))
def test_gradients(call: str) -> None:
    """Gradients with respect to what is read and what is written are torch's."""
    found = []
    for library in (dovetail, torch):
        given = names(library, grad=True)
        result = eval(call, given)
        weights = np.cos(np.arange(result.numel())).reshape(tuple(result.shape))
        (result * result * library.tensor(weights)).sum().backward()
        grads = (given[n].grad for n in "xy")
        found.append([np.zeros(1) if g is None else g.numpy() for g in grads])
    for name, ours, theirs in zip("xy", *found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("statement", lines(STATEMENTS))
def test_writes(statement: str) -> None:
    """Values and gradients after a write in place are torch's."""
    found = []
    for library in (dovetail, torch):
        given = names(library, grad=True)
        leaf, given["x"] = given["x"], given["x"] * 1
        exec(statement, given)
        x = given["x"]
        weights = np.cos(np.arange(60)).reshape(SHAPE)
        (x * x * library.tensor(weights)).sum().backward()
        grads = (t.grad for t in (leaf, given["y"]))
        found.append(
            [
                x.detach().numpy(),
                *[np.zeros(1) if g is None else g.numpy() for g in grads],
            ]
        )
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


REFUSED = """
x[4] | x[:, -4] | x[T.tensor([4])] | x[T.tensor([0, -5])] | x[0, 0, 0, 0] | x[m[:2]]
x[1.5] | x[T.tensor([1.0])] | x[i, p] | x["a"] | x[0, p, T.tensor([9, 9, 9])]
x.gather(0, g + 1) | x.gather(0, g - 1) | x.gather(0, g[0]) | x.gather(1, x)
x.scatter(0, g + 1, 1) | x.scatter_add(0, g, y[:1]) | x.scatter_add(0, g, y.float())
x.index_select(0, p + 1) | x.index_select(3, p) | x.index_select(0, flat)
x.index_select(0, p - 1) | x.index_add(0, p, y) | x.index_add(0, p + 1, y[:3])
x.index_copy(0, p + 1, y[:3]) | x.take(flat + 60) | x.put(flat + 60, y[0, :2, :2])
x.masked_fill(x, 1) | x.masked_fill(m, y) | x.masked_select(x)
x.masked_scatter(m, y[:1]) | x.scatter_reduce(0, g, y, "median")
x.scatter_reduce(0, g + 1, y, "amax") | x.index_put((p,), y)
F.embedding(p + 2, x[:, 0]) | F.one_hot(p, 2) | x.select_scatter(y, 0, 0)
T.where(x, x, y) | x.take_along_dim(x, 0) | x.__setitem__(9, 0)
x.__setitem__(i, y[:, :2]) | x.__setitem__(0, y)
x.__setitem__(m, y[:1].reshape(-1)[:3]) | x.__setitem__(slice(0, 2), y[:3])
x.index_fill(0, p + 1, 1) | x.diagonal_scatter(y) | x.index_put((x,), y)
x.gather(5, g) | x.take(x) | (x > 0).scatter_reduce(0, g, y[:2, :, :4] > 0, "mean")
"""


@pytest.mark.parametrize("call", lines(REFUSED))
def test_refusals(call: str) -> None:
    """What torch refuses is refused, and where an index is out of range, so is said."""
    kinds = (RuntimeError, ValueError, IndexError, TypeError)
    with pytest.raises(kinds):
        eval(call, names(torch))
    before = names(dovetail)
    kept = before["x"].numpy().copy()
    with pytest.raises(kinds) as refused:
        eval(call, before)
    assert isinstance(refused.value, dovetail.errors.DovetailError), refused.value
    np.testing.assert_array_equal(before["x"].numpy(), kept)


@pytest.mark.parametrize(
    "call",
    ["x[T.tensor([0, 4])]", "x.index_select(0, p + 1)", "x.gather(0, g + 1)",
     "x.scatter_add(0, g + 1, y)", "F.embedding(p + 1, x[:, 0])", "x.take(flat + 60)"],
)  # fmt: skip
def test_out_of_range_names_the_bound(call: str) -> None:
    """The error says which index, and the size that bounds it."""
    with pytest.raises(dovetail.errors.IndexOutOfRange, match=r"size (4|60)"):
        eval(call, names(dovetail))


def test_iteration_and_membership() -> None:
    """Rows come one by one, as views."""
    x = dovetail.zeros(3, 2)
    for n, row in enumerate(x):
        row.fill_(n)
    assert x.tolist() == [[0, 0], [1, 1], [2, 2]]


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_bools_have_no_mean(device: str) -> None:
    """The mean of bools that meet is refused, also where only shapes are known."""
    x = dovetail.ones(2, dtype=dovetail.bool, device=device)
    places = dovetail.zeros(2, dtype=dovetail.int64, device=device)
    assert x.scatter_reduce(0, places, x, "sum").dtype is dovetail.bool
    with pytest.raises(dovetail.errors.DTypeError, match="numbers to average"):
        x.scatter_reduce(0, places, x, "mean")
