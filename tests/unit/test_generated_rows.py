"""Generated kernels of rows: sums, softmax and norms along the last dims."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tests.support import child

import dovetail
from dovetail_cpu.generated_rows import ROW_OPS, Generated

Array = np.ndarray[Any, Any]

LENGTHS = (40, 1000, 1024, 1025, 5000)


def drawn(*shape: int, dtype: str = "float32") -> Array:
    """Numbers of both signs."""
    return np.random.default_rng(5).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("lanes", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_any_length(lanes: int, dtype: str) -> None:
    """Statistics of rows are those of float64, for lengths around blocks and lanes."""
    x = drawn(33, lanes, dtype=dtype)
    wide, near = x.astype(np.float64), 40 * np.finfo(dtype).eps
    t = dovetail.from_numpy(x)
    for got, want in (
        (t.sum(1), wide.sum(1)),
        (t.mean(1), wide.mean(1)),
        (t.var(1), wide.var(1, ddof=1)),
        (t.amax(1), wide.max(1)),
        (t.amin(1), wide.min(1)),
        (t.logsumexp(1), np.log(np.exp(wide).sum(1))),
    ):
        np.testing.assert_allclose(got.numpy(), want, rtol=near, atol=near * 100)


def test_nan_wins_wherever_it_is() -> None:
    """A row with a NaN anywhere has NaN for its maximum, and no other row has."""
    x = drawn(64, 600)
    x[np.arange(64), np.arange(64) * 9] = np.nan
    x[5] = 1.0
    got = dovetail.from_numpy(x).amax(1).numpy()
    assert np.isnan(np.delete(got, 5)).all()
    assert got[5] == 1.0


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dims", [None, (0, 1, 2), (1, 2), (2,), (0,), (0, 2)])
def test_any_dims_are_reduced(dims: Any, keepdim: bool) -> None:
    """Whichever dims are reduced, values and shape are NumPy's."""
    x = drawn(20, 30, 70)
    got = dovetail.from_numpy(x).sum(dims, keepdim=keepdim).numpy()
    want = x.astype(np.float64).sum(dims, keepdims=keepdim)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-3)


def test_a_long_sum_keeps_its_digits() -> None:
    """Ten million equal numbers add up without losing more than some ulp."""
    x = dovetail.full((10_000_000,), 0.1)
    assert abs(x.sum().item() / 1e6 - 1) < 1e-6
    assert abs(x.reshape(1, -1).sum(1).item() / 1e6 - 1) < 1e-5


def test_bits_do_not_depend_on_threads() -> None:
    """Whoever runs a chunk, in whichever order, every result is the same."""
    before = dovetail.get_num_threads()
    x = dovetail.from_numpy(drawn(500, 1003))
    results = []
    try:
        for threads in (1, 2, 3):
            dovetail.set_num_threads(threads)
            found = (x.sum(), x.var(-1), dovetail.softmax(x, -1), dovetail.tanh(x))
            results.append([y.numpy().tobytes() for y in found])
    finally:
        dovetail.set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_layouts_that_are_not_row_major_are_served_too() -> None:
    """Operands that lie otherwise get the same values."""
    x = drawn(300, 200)
    got = dovetail.nn.functional.softmax(dovetail.from_numpy(x.T), -1).numpy()
    want = dovetail.nn.functional.softmax(dovetail.from_numpy(x.T.copy()), -1).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_optional_inputs_may_be_absent() -> None:
    """A layer norm without weight, or without bias, has kernels of its own."""
    x, w = drawn(100, 300), drawn(300)
    plain = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    norm = dovetail.nn.functional.layer_norm
    t, u = dovetail.from_numpy(x), dovetail.from_numpy(w)
    for got, want in (
        (norm(t, (300,)), plain),
        (norm(t, (300,), u), plain * w),
        (norm(t, (300,), u, u), plain * w + w),
    ):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-5)


LENGTHS_SEEN = """
import dovetail
for lanes in (600, 700, 800):
    x = dovetail.rand(60, lanes)
    dovetail.nn.functional.layer_norm(x, (lanes,))
    x.mean(1)
"""


def test_lengths_of_rows_compile_nothing() -> None:
    """One kernel serves rows of all lengths, also where the body divides by them."""
    done = child.run(sys.executable, "-c", LENGTHS_SEEN, DOVETAIL_LOG="kernels")
    assert done.stderr.count("layer_norm_float32_rows") == 1
    assert done.stderr.count("mean_float32_rows") == 1


@pytest.mark.parametrize("op", ROW_OPS)
def test_every_op_of_rows_is_generated(op: str) -> None:
    """None of the ops that are said to be generated is left to NumPy in silence."""
    named, extents = ROW_OPS[op]
    attributes: dict[str, Any] = {named: (1,)}
    if "softmax" in op:
        attributes = {"dim": 1}
    elif op in ("sum", "mean"):
        attributes |= {"keepdim": False, "dtype": None}
    elif op in ("var", "std"):
        attributes |= {"keepdim": False, "correction": 1}
    elif named == "normalized_shape":
        attributes = {named: (500,)}
    elif named == "dim":
        attributes |= {"keepdim": False}
    shapes = {"full": (64, 500), "shared": (500,), "row": (64, 1)}
    made = Generated(op, attributes, 32)
    scalars = {"eps": 1e-5} if op in ("normalise", "layer_norm") else {}
    assert made(tuple(drawn(*shapes[e]) for e in extents), scalars) is not None
