"""Reductions of CuPy devices in any layout, in as many stages as they take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.accelerators.emulated_machine import EmulatedMachine
from tests.support.emulator import COMPILER

from dovetail.dtypes import by_name
from dovetail_cupy.reductions import Reductions
from dovetail_strict.library import Library

pytestmark = pytest.mark.skipif(not COMPILER, reason="there is no C++ compiler")


@pytest.fixture(scope="module")
def reduce(tmp_path_factory: pytest.TempPathFactory) -> Reductions:
    return Reductions(EmulatedMachine(tmp_path_factory.mktemp("kernels"), 32))


@st.composite
def calls(draw: Any) -> tuple[Any, tuple[int, ...]]:
    """Whole numbers that lie in some order, and dims of theirs; many along one dim."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    shape[draw(st.integers(0, len(shape) - 1))] = draw(st.sampled_from([3, 300, 2100]))
    order = draw(st.permutations(range(len(shape))))
    seed = draw(st.integers(0, 99))
    lying = np.random.default_rng(seed).integers(-4, 5, [shape[d] for d in order])
    dims = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    return lying.transpose(np.argsort(order)), tuple(sorted(dims))


@settings(max_examples=60, deadline=None)  # the first call compiles
@given(calls(), st.sampled_from(["float32", "bfloat16"]), st.booleans())
def test_sums(reduce: Reductions, drawn: Any, dtype: str, keepdim: bool) -> None:
    """They are NumPy's; a mean is one too."""
    values, dims = drawn
    a = Library().asarray(values.astype(by_name(dtype).numpy))
    wide = np.dtype("float32")
    got = reduce("add", [a], a.shape, dims, keepdim, wide)
    want = values.sum(axis=dims, keepdims=keepdim)
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.numpy, want)
    share = reduce("add", [a], a.shape, dims, keepdim, wide, share=4)
    np.testing.assert_array_equal(share.numpy, want / 4)


def test_many_lanes_of_few_results(reduce: Reductions) -> None:
    """Rows are added up in parts, and columns by neighbours; each part once."""
    machine: Any = reduce._machine
    values = np.arange(6000.0).reshape(2, 3000).astype("float32")
    for a, dims in ((values, (1,)), (values.T.copy(), (0,))):
        machine.ran.clear()
        got = reduce("add", [Library().asarray(a)], a.shape, dims, False, a.dtype)
        np.testing.assert_array_equal(got.numpy, values.sum(axis=1, dtype="f8"))
        assert len(machine.ran) == 2
