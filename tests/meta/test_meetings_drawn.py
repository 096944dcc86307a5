"""Things that meet in the calls that are drawn: layouts, options, sizes, operands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.example import Example
from dovetail.conformance.examples import _examples, examples
from dovetail.conformance.law import LAWS
from dovetail.conformance.laws.derivatives import held_back
from dovetail.conformance.laws.places import alike, planes
from dovetail.conformance.laws.tails import _rows
from dovetail.conformance.layouts import LAYOUTS, layouts_for
from dovetail.conformance.options import CROSSED, crossed_op
from dovetail.conformance.sizes import AS_NAMED, about
from dovetail.conformance.subject import Subject
from dovetail.conformance.value_makers import sweep, towering
from dovetail.engine.op import vocabulary

CPU = Subject("cpu")


def calls_of(op: str, dtype: Any = dt.float32) -> tuple[Example, ...]:
    return examples(CPU, vocabulary[op], dtype, BUDGETS["standard"])


def given(op: str, call: Example) -> dict[str, Any]:
    assert call.case is not None
    names = vocabulary[op].names
    return dict(zip(names, call.case.args, strict=False)) | call.case.kwargs


def test_one_operand_lies_row_by_row_beside_others() -> None:
    """Either of two, in some calls of each layout; of one shape never both."""
    op = vocabulary["bmm"]
    seen = set()
    for name in LAYOUTS:
        for n in range(2, 40):
            a, b = (np.zeros((n, 3, 4), np.float32) for _ in range(2))
            both = tuple(
                layouts_for(op, p.name, x, name)[0]
                for p, x in zip(op.tensors, (a, b), strict=True)
            )
            assert name in both
            seen.add((name, tuple(x == name for x in both)))
    for name in LAYOUTS:
        if name != "contiguous":
            assert {(name, (True, False)), (name, (False, True))} <= seen


def test_options_meet_the_sizes_of_kernels_for_many() -> None:
    """Each number that `threshold` may give, in calls beyond the last boundary."""
    last = max(CPU.backend.launch_boundaries)
    _, levels = crossed_op(vocabulary["threshold"], dt.float64)
    met = {
        repr(given("threshold", call)["value"])
        for call in calls_of("threshold", dt.float64)
        if call.options == CROSSED and max(a.size for a in call.arrays()) > last
    }
    assert met == set(map(repr, levels["value"]))


def test_a_device_with_few_shapes_sees_no_more_of_them() -> None:
    """No sizes are added for devices that compile for each."""
    drawn = _examples(vocabulary["threshold"], dt.float32, 40, 1 << 16, (), 3, 0)
    assert not [c for c in drawn.calls if c.options == CROSSED and c.size == "1024"]


@pytest.mark.parametrize("op", ["normalise_by", "layer_norm"])
def test_operands_are_left_out(op: str) -> None:
    """A bias without a weight, and a weight without a bias."""
    found = {
        tuple(isinstance(given(op, c).get(n), np.ndarray) for n in ("weight", "bias"))
        for c in calls_of(op)
    }
    assert {(True, False), (False, True)} <= found


def test_sizes_go_well_past_a_boundary() -> None:
    """Of five numbers one is half as many again."""
    assert sorted({about(1024, n) for n in range(60)}) == [1023, 1024, 1025, 1539]
    most = max(a.size for c in calls_of("neg", dt.int32) for a in c.arrays())
    assert most > (1 << 16) + (1 << 14)


def test_numbers_that_floats_round() -> None:
    """Integers past 2^24 and 2^53, and a tenth for double."""
    levels = {
        d: crossed_op(vocabulary["masked_fill"], d)[1]["value"]
        for d in (dt.int16, dt.int32, dt.int64, dt.float32, dt.float64)
    }
    past = [(1 << 24) + 1, (1 << 53) + 1]
    assert [[n in levels[d] for n in past] for d in (dt.int16, dt.int32, dt.int64)] == [
        [False, False], [True, False], [True, True]
    ]  # fmt: skip
    assert 0.1 in levels[dt.float64]
    assert 0.1 not in levels[dt.float32]


def test_masks_have_whole_slices() -> None:
    """Where data has, in masked and in flat calls."""
    alike = 0
    for seed in range(20):
        make = Varied(vocabulary["where"], dt.float32, "flat", AS_NAMED, seed)
        mask = make.bools(5, 6)
        alike += any(np.all(r == r[0]) for a in (mask, mask.T) for r in a)
    assert alike == 20


def test_one_of_many_operands_may_be_all_that_is_special() -> None:
    """Each of four, in calls of the class alone."""
    found = set()
    for seed in range(200):
        make = Varied(vocabulary["attention"], dt.float32, "masked", AS_NAMED, seed)
        drawn = [make(3, 4) for _ in range(4)]
        odd = [i for i, a in enumerate(drawn) if not np.isfinite(a).all()]
        if len(odd) == 1:
            found.add(odd[0])
    assert found == {0, 1, 2, 3}


def test_a_last_element_may_tower() -> None:
    """By more than what an exponential takes, and its square fits."""
    for dtype in (dt.float16, dt.bfloat16, dt.float32, dt.float64):
        tall = towering(dtype)
        most = float(np.finfo(np.float32 if dtype is dt.bfloat16 else dtype.numpy).max)
        assert math.log(most) < tall < most**0.5
        assert (0, tall) in list(_rows(vocabulary["softmax"], dtype))


def test_sweeps_reach_where_one_and_x_are_one() -> None:
    """In each format."""
    random = np.random.default_rng(0)
    for dtype, eps in ((dt.float32, 2.0**-24), (dt.float64, 2.0**-53)):
        made = sweep(np.zeros(1000, dtype.numpy), random, dtype)
        assert 0 < np.min(np.abs(made)) < eps


def test_memory_is_copied_between_orders() -> None:
    """Matrices that are no whole tiles, of which some sources are turned."""
    looks = list(planes())
    assert {look.strides[0] == 1 for look in looks} == {True, False}
    random = np.random.default_rng(0)
    turned = [alike(random, (33, 70), 1 << 14).strides for _ in range(100)]
    assert (1, 33) in turned
    assert (70, 1) in turned


def test_rows_that_get_no_gradient_are_read() -> None:
    """What holds gradients back is an option of the call, and no derivative's."""
    op = vocabulary["embedding"]
    padded = [
        c
        for c in calls_of("embedding")
        if given("embedding", c).get("padding_idx", -1) >= 0
    ]
    assert any(
        given("embedding", c)["padding_idx"] in c.case.args[1] for c in padded if c.case
    )
    proven = list(LAWS["gradient"].examples(CPU, op, dt.float64, BUDGETS["standard"]))
    assert proven
    assert not any(held_back(op, c) for c in proven)
    assert all(held_back(op, c) for c in padded)
