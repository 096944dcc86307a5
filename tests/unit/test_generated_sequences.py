"""Recurrent layers by generated kernels: what bodies compute, on any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.generated import guarded, untouched

import dovetail as dt
from dovetail.codegen.runtime import available
from dovetail.codegen.runtime.blas import blas
from dovetail.ops.gru import gru_sequence, gru_sequence_backward
from dovetail.ops.lstm import lstm_sequence, lstm_sequence_backward

if not available() or blas() is None:
    pytest.skip("there are no generated kernels here", allow_module_level=True)

from dovetail.codegen import eager_sequences, narrow_products  # needs LLVM
from dovetail.codegen.arrays import address

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64"]
# Steps, sequences, width, units: lanes in part, more vectors, one sequence, one step.
# Those of 32 and 64 sequences fill the vectors of narrow products.
SIZES = [
    (4, 7, 3, 9), (3, 37, 5, 17), (2, 1, 2, 3), (1, 16, 4, 33), (3, 4, 70, 130),
    (3, 32, 5, 16), (2, 64, 3, 24),
]  # fmt: skip
GATES = {"lstm": 4, "gru": 3}


def drawn(seed: int, dtype: str, *shape: int) -> Array:
    made: Array = np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)
    return made


def layer(kind: str, sizes: tuple[int, ...], dtype: str, biased: bool) -> list[Any]:
    """The operands of a layer."""
    steps, count, width, units = sizes
    rows = GATES[kind] * units
    shapes: list[Any] = [(steps, count, width), (count, units)]
    shapes += [(count, units)] if kind == "lstm" else []
    shapes += [(rows, width), (rows, units)]
    shapes += [(rows,) if biased else None] * (1 if kind == "lstm" else 2)
    return [
        None if shape is None else drawn(i, dtype, *shape)
        for i, shape in enumerate(shapes)
    ]


def by_body(op: Any, arrays: list[Any]) -> list[Array]:
    """What the definition gives in float64."""
    given = [None if a is None else dt.from_numpy(a.astype(np.float64)) for a in arrays]
    return [y.numpy() for y in op.op.body(*given)]


def assert_near(found: Any, wanted: list[Array], dtype: str) -> None:
    near = 64 * float(np.finfo(dtype).eps)
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=near, atol=near * 8)


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", GATES)
def test_kernels_compute_what_bodies_say(
    kind: str, sizes: tuple[int, ...], dtype: str, biased: bool
) -> None:
    """Results, cells and gates, of sizes that fill vectors and that do not."""
    op = lstm_sequence if kind == "lstm" else gru_sequence
    given = layer(kind, sizes, dtype, biased)
    found = getattr(eager_sequences, kind)(*given)
    assert_near(found, by_body(op, given), dtype)
    assert found[0].flags.c_contiguous


@pytest.mark.parametrize("there", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("lying", ["by rows", "by units"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES)
def test_slopes_of_long_memory_are_those_of_the_body(
    sizes: tuple[int, ...], dtype: str, lying: str, there: tuple[bool, bool]
) -> None:
    """Whichever results have a cotangent, and however what was kept lies."""
    given = layer("lstm", sizes, dtype, True)
    y, cells, gates = eager_sequences.lstm(*given)
    if lying == "by rows":
        cells, gates = map(np.ascontiguousarray, (cells, gates))
    cts = [drawn(9 + i, dtype, *y.shape) if t else None for i, t in enumerate(there)]
    kept = [given[2], cells, gates, given[4]]
    found = eager_sequences.lstm_backward(*kept, *cts)
    assert_near(found, by_body(lstm_sequence_backward, [*kept, *cts, None]), dtype)


@pytest.mark.parametrize("lying", ["by rows", "by units"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES)
def test_slopes_of_gated_units_are_those_of_the_body(
    sizes: tuple[int, ...], dtype: str, lying: str
) -> None:
    """However what was kept lies."""
    given = layer("gru", sizes, dtype, True)
    y, gates = eager_sequences.gru(*given)
    gates = np.ascontiguousarray(gates) if lying == "by rows" else gates
    kept = [given[1], y, gates, given[3], drawn(9, dtype, *y.shape)]
    found = eager_sequences.gru_backward(*kept)
    assert_near(found, by_body(gru_sequence_backward, [*kept, None]), dtype)


@pytest.mark.parametrize("code", ["f", "d"])
@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("tiles", [1, 3])
def test_narrow_products_are_those_of_float64(
    tiles: int, adds: bool, code: str
) -> None:
    """Of rows apart, beside what was there or over it, and nothing else is written."""
    columns = tiles * narrow_products.columns_of(code)
    if not narrow_products.fits(code, 24, 19, columns):
        pytest.skip("this processor multiplies and adds in two steps")
    left, right = drawn(1, code, 24, 19), drawn(2, code, 19, columns)
    memory, inner = guarded(24 * columns, code)
    y = inner.reshape(24, columns)
    y[...] = start = drawn(3, code, 24, columns)
    words = [address(left), address(right), address(y), 19, columns, columns, 19, tiles]
    table = np.array(words, np.int64)
    narrow_products.kernel_of(code, adds).run(address(table), 3, 1)
    wanted = left.astype(np.longdouble) @ right + (start if adds else 0)
    near = 32 * float(np.finfo(code).eps)
    np.testing.assert_allclose(y, wanted.astype(code), rtol=near, atol=near)
    assert untouched(memory, inner)


@pytest.mark.parametrize("kind", GATES)
def test_the_number_of_threads_changes_no_bit(kind: str) -> None:
    """Results and gradients of a layer whose steps are shared by threads."""
    before = dt.get_num_threads()
    found = []
    try:
        for threads in (1, 3):
            dt.set_num_threads(threads)
            dt.manual_seed(0)
            network = getattr(dt.nn, kind.upper())(40, 130)
            x = dt.randn(6, 48, 40, requires_grad=True)
            network(x)[0].square().sum().backward()
            grads = [x.grad, *(p.grad for p in network.parameters())]
            found.append([g.numpy().tobytes() for g in grads if g is not None])
    finally:
        dt.set_num_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", GATES)
def test_layers_are_one_call(kind: str) -> None:
    """A layer of many steps is one op of the tape, and its kernel is generated."""
    network = getattr(dt.nn, kind.upper())(8, 32)
    y, _ = network(dt.randn(20, 16, 8))
    assert y.grad_fn.name().lower().startswith(f"{kind}sequence")


@pytest.mark.parametrize("kind", GATES)
def test_results_lie_in_rows(kind: str) -> None:
    """What a layer gives can be viewed, however its kernel keeps what it saves."""
    network = getattr(dt.nn, kind.upper())(8, 32)
    y, states = network(dt.randn(20, 16, 8))
    states = states if isinstance(states, tuple) else (states,)
    assert y.view(-1, 32).shape == (320, 32)
    assert all(state.is_contiguous() for state in states)
