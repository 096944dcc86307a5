"""Calls next to numbers, at sizes, with stretches of one number, odd in every size."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import dtypes
from dovetail.conformance.at_sizes import at_sizes
from dovetail.conformance.budget import budget
from dovetail.conformance.examples import examples
from dovetail.conformance.masks import with_rows
from dovetail.conformance.odd_sizes import odd_sizes
from dovetail.conformance.stretches import stretches
from dovetail.conformance.subject import Subject
from dovetail.conformance.value_makers import pool
from dovetail.conformance.values import classes_for, varied
from dovetail.engine.cases import case
from dovetail.engine.op import vocabulary

_LARGEST = 1 << 16


def test_long_lines_have_stretches_and_several_nans() -> None:
    """A first block is -inf alone, and another line has NaNs that are far apart."""
    op, values = vocabulary["logcumsumexp"], classes_for(dtypes.float32)
    calls = list(stretches(op, dtypes.float32, values, _LARGEST, 0))
    assert {c.case.args[1] for c in calls if c.case is not None} == {0, 2}
    for call in calls:
        assert call.case is not None
        lines = np.moveaxis(call.case.args[0], call.case.args[1], -1)
        assert np.isneginf(lines[..., :64]).all(-1).any()
        assert (np.isnan(lines).sum(-1) == 5).any()


@pytest.mark.parametrize("name", ["conv2d", "max_pool", "nll_loss", "matmul"])
def test_every_size_that_grows_is_odd(name: str) -> None:
    """None of the sizes past a few is even."""
    op = vocabulary["convolution" if name == "conv2d" else name]
    found = [
        n for d in (dtypes.float32, dtypes.float64)
        for e in odd_sizes(op, d, _LARGEST, 0) for a in e.arrays() for n in a.shape
    ]  # fmt: skip
    assert found
    assert sum(n % 2 for n in found if n > 4) > len(found) // 2


def test_options_reach_the_sizes_they_are_about() -> None:
    """A reflected margin is as wide as it may be, in one dtype or another."""
    op, reached = vocabulary["margin_pad"], False
    for dtype in dtypes.ALL:
        for e in at_sizes(op, dtype, 0) if dtype in op.accepts else ():
            assert e.case is not None
            x, padding, mode = e.case.args
            reached |= mode == "reflect" and max(padding) == x.shape[-1] - 1
    assert reached


def test_masks_hide_a_row_and_show_one() -> None:
    """The first row of a mask is False, the last True; all else is as it was."""
    mask = np.array([[True, True], [True, False], [False, False]])
    made = with_rows(case(mask, 3))
    assert made is not None
    assert made.args[0].tolist() == [[False, False], [True, False], [True, True]]
    assert made.args[1] == 3


def test_random_numbers_pass_what_16_bits_count() -> None:
    """Shapes of ops without operands are not cut to the dims that cases have."""
    op = vocabulary["random_mask"]
    calls = examples(Subject("cpu:0"), op, dtypes.float32, budget("standard"))
    sizes = [int(np.prod(e.case.args[0])) for e in calls if e.case is not None]
    assert max(sizes) > 1 << 16


@pytest.mark.parametrize("dtype", [dtypes.int64, dtypes.float64])
def test_numbers_beside_each_other_are_one_in_a_narrower_format(
    dtype: dtypes.DType,
) -> None:
    """Some of them are equal there, and differ here."""
    random = np.random.default_rng(0)
    made = varied(np.arange(64).astype(dtype.numpy) - 32, "beside", random, dtype)
    narrow = made.astype(np.float64 if dtype is dtypes.int64 else np.float32)
    assert np.unique(narrow).size < np.unique(made).size


def test_counts_of_bits_have_the_width_of_a_word() -> None:
    """Shifts by all bits, and by one more, are among the pairs."""
    assert {32, 33} <= set(pool(dtypes.int32).tolist())
    assert {8, 9} <= set(pool(dtypes.uint8).tolist())
