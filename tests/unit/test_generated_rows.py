"""Generated kernels of rows: sums, softmax and norms along the last dims."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from tests.support import child

import dovetail
from dovetail.codegen.row_ops import NAMED
from dovetail.device_api import registry
from dovetail.engine.op import declared
from dovetail.ops.norm import normalise_weight_backward
from dovetail_cpu.generated_rows import SHORTEST, Generated

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


# Sizes around the lanes of a piece and its blocks; few results of much, and many.
CALLS = [
    ((300, 64), 0), ((300, 65), 1), ((17, 1023), 0), ((1, 70_000), 1), ((7_000, 19), 0),
    ((9, 33, 80), 1), ((9, 33, 80), (0, 2)), ((5, 3, 6, 200), (1, 3)),
    ((5, 3, 6, 200), (0, 2)), ((700, 3, 17), (0, 2)), ((2000, 63), 1), ((2000, 16), 1),
    ((2000, 10), 1), ((2000, 10), 0), ((40, 50, 9), 1), ((40, 50, 9), (0, 2)),
    ((40, 50, 9), (0, 1)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "dims", "dtype"),
    [
        (*c, ("float32", "float64", "float32", "int32")[i % 4])
        for i, c in enumerate(CALLS)
    ],
)
def test_dims_are_reduced_wherever_they_are(
    shape: tuple[int, ...], dims: Any, dtype: str
) -> None:
    """Reductions along any dims are those of wide numbers, whatever the sizes."""
    x = drawn(*shape, dtype="float64") * 3
    x = x.astype(dtype)
    t, axes = dovetail.from_numpy(x), dims if isinstance(dims, tuple) else (dims,)
    wide = x.astype(np.longdouble)
    wanted = {
        "sum": wide.sum(axes), "mean": wide.mean(axes), "amax": wide.max(axes),
        "amin": wide.min(axes), "var": wide.var(axes, ddof=1),
        "logsumexp": np.log(np.exp(wide - 9).sum(axes)) + 9,
        "count_nonzero": (x != 0).sum(axes), "any": (x != 0).any(axes),
    }  # fmt: skip
    near = 40 * np.finfo(dtype).eps if dtype != "int32" else 0
    for name, want in wanted.items():
        if dtype == "int32" and name in ("mean", "var", "logsumexp"):
            continue
        got = getattr(dovetail, name)(t, dims).numpy()
        np.testing.assert_allclose(got, want, rtol=near, atol=near * 300, err_msg=name)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("last", [1, 3, 9, 70])
def test_results_lie_in_rows(last: int, keepdim: bool) -> None:
    """Whichever dims are reduced, and however short the last one is that stays."""
    x = drawn(2, 3, 29, last)
    for count in range(1, 4):
        for dims in itertools.combinations(range(4), count):
            op = Generated("amax", {"dim": dims, "keepdim": keepdim}, SHORTEST)
            y = op((x,), {})
            assert y is None or y.flags.c_contiguous, dims
            want = x.max(dims, keepdims=keepdim)
            assert y is None or (y == want).all(), dims


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


@pytest.mark.parametrize(
    ("shape", "dim"), [((300_001,), 0), ((3, 70_001), 1), ((70_001, 3), 0)]
)
def test_every_part_of_a_long_dim_counts(shape: tuple[int, ...], dim: int) -> None:
    """What one element adds to a sum, or a NaN to a maximum, is there from any part."""
    long = shape[dim]
    for place in range(0, long, long // 40):
        x = np.zeros(shape, np.float32)
        np.moveaxis(x, dim, 0)[place] = 3.0
        t = dovetail.from_numpy(x)
        assert (t.sum(dim).numpy() == 3).all()
        assert (t.amax(dim).numpy() == 3).all()
        np.moveaxis(x, dim, 0)[place] = np.nan
        assert np.isnan(t.amax(dim).numpy()).all()


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
    assert done.stderr.count("layer_norm_float32_kr") == 1
    assert done.stderr.count("mean_float32_kr") == 1


def called(op: str) -> tuple[Any, ...]:
    """(attributes, operands, numbers) of a call that reduces the second of two dims."""
    named = NAMED[op]
    found: Any = (
        1 if "softmax" in op else (500,) if named == "normalized_shape" else (1,)
    )
    attributes: dict[str, Any] = {named: (64, 1) if named == "weight_shape" else found}
    if op in ("sum", "mean", "prod"):
        attributes["dtype"] = None
    if op in ("var", "std"):
        attributes["correction"] = 1
    if op == "vector_norm":
        attributes["p"] = 2
    if op == "prod":
        attributes["dim"] = 1
    plain = named == "dim" and "softmax" not in op and op != "count_nonzero"
    if plain:
        attributes["keepdim"] = False
    full, weight, row = (64, 500), (500,), (64, 1)
    shapes: dict[str, Any] = {
        "normalise": (full, weight, weight), "layer_norm": (full, weight, weight),
        "normalise_backward": (full, full, weight, row, row),
        "normalise_weight_backward": (full, full, row, row),
        "softmax_backward": (full, full), "log_softmax_backward": (full, full),
        "rms_norm": (full, weight),
    }  # fmt: skip
    operands = tuple(drawn(*s) for s in shapes.get(op, (full,)))
    numbers = {"eps": 1e-5} if op in ("normalise", "layer_norm", "rms_norm") else {}
    return attributes, operands, numbers


@pytest.mark.parametrize("op", NAMED)
def test_every_op_of_rows_is_generated(op: str) -> None:
    """None of the ops that are said to be generated is left to NumPy in silence."""
    attributes, operands, numbers = called(op)
    assert Generated(op, attributes, 16)(operands, numbers) is not None


HALVES = {"bfloat16": 2.0**-8, "float16": 2.0**-11}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("rows", [4, 300])
def test_gradients_of_weights_of_16_bits(dtype: str, rows: int) -> None:
    """Small and large, the sum of what the op is declared to be."""
    kind = getattr(dovetail, dtype)
    ct, x = (dovetail.from_numpy(drawn(rows, 96)).to(kind) for _ in "ab")
    mean, rstd = (dovetail.from_numpy(drawn(rows, 1)).to(kind) for _ in "ab")
    want = (ct.double() * ((x.double() - mean.double()) * rstd.double())).sum(0)
    found = normalise_weight_backward(ct, x, mean, rstd, (96,)).double()
    size = want.abs().max().item()
    assert (found - want).abs().max().item() <= 4 * HALVES[dtype] * size


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("shape", [(4, 16), (300, 400)])
def test_gradients_of_norms_of_16_bits(dtype: str, shape: tuple[int, int]) -> None:
    """Small and large, with float32 for statistics, and rounded once."""
    halves = [
        dovetail.from_numpy(drawn(*s)).to(getattr(dovetail, dtype))
        for s in (shape, shape[1:], shape)
    ]

    def gradients(given: list[dovetail.Tensor]) -> list[dovetail.Tensor]:
        x, weight, ct = (t.clone() for t in given)
        x.requires_grad_(), weight.requires_grad_()
        y = dovetail.nn.functional.layer_norm(x, shape[1:], weight)
        return list(dovetail.autograd.grad(y, [x, weight], ct))

    found, want = gradients(halves), gradients([t.double() for t in halves])
    for got, true in zip(found, want, strict=True):
        assert got.dtype is halves[0].dtype
        error = (got.double() - true).abs() / true.abs().clamp(min=0.05)
        assert error.max().item() <= HALVES[dtype] * 1.1


def test_conditions_look_at_what_they_name() -> None:
    """No op has an attribute that is named as a fact of arrays which is asked for."""
    table = registry.load("cpu").table
    for op in declared():
        own = {p.name for p in op.params if p.name in ("shape", "ndim", "contiguous")}
        for kernel in table.rivals(op.name) if own and op.tensors else ():
            assert not own & set(kernel.reads), op.name


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", HALVES)
def test_floats_of_16_bits_are_rounded_once(dtype: str, dim: int) -> None:
    """Whatever is computed of them is computed in float32, and then rounded."""
    half = dovetail.from_numpy(drawn(150, 200)).to(getattr(dovetail, dtype))
    wide = half.double()
    for name, function in {
        "sum": lambda x: x.sum(dim),
        "var": lambda x: x.var(dim),
        "softmax": lambda x: dovetail.softmax(x, dim),
        "log_softmax": lambda x: dovetail.log_softmax(x, dim),
        "logsumexp": lambda x: x.logsumexp(dim),
        "cumsum": lambda x: x.cumsum(dim),
    }.items():
        got, want = function(half), function(wide)
        assert got.dtype is half.dtype
        error = (got.double() - want).abs() / want.abs().clamp(min=0.01)
        assert error.max().item() <= HALVES[dtype] * 1.01, name


@pytest.mark.parametrize("present", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_optional_inputs_of_16_bits_may_be_absent(present: tuple[int, int]) -> None:
    """Whichever of weight and bias there is, a half's batch norm is that of floats."""
    x = dovetail.from_numpy(drawn(40, 8, 70)).half()
    weight, bias = (
        dovetail.from_numpy(drawn(8)).half() if p else None for p in present
    )
    norm = dovetail.nn.functional.batch_norm
    got = norm(x, None, None, weight, bias, training=True).float()
    wide = (None if w is None else w.float() for w in (weight, bias))
    want = norm(x.float(), None, None, *wide, training=True)
    assert (got - want).abs().max().item() < 0.005


def test_a_norm_that_no_kernel_knows_is_served_by_its_body() -> None:
    """Attributes decide whether there is a kernel, before one is promised."""
    x = dovetail.from_numpy(np.abs(drawn(200, 200))).half()
    got = dovetail.linalg.vector_norm(x, 3, dim=1).double()
    want = dovetail.linalg.vector_norm(x.double(), 3, dim=1)
    assert ((got - want).abs() / want).max().item() < 0.01


def test_variances_of_16_bits_that_leave_the_format_are_infinite() -> None:
    """No other kernel stands behind these, and none is asked for."""
    x = dovetail.full((200, 200), 6e4, dtype=dovetail.float16)
    x[:, ::2] = -6e4
    assert dovetail.isinf(x.var(1)).all()
