"""Calls in which numbers lie together, are all zero, or meet the ends of formats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.meta.mutants.catalogue import CATALOGUE
from tests.meta.mutants.mutant import Mutant

import dovetail as dt
from dovetail.conformance import laws  # noqa: F401  registers them
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.example import Example
from dovetail.conformance.examples import examples
from dovetail.conformance.judge import judge
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import BAD, Check
from dovetail.engine.op import vocabulary


def drawn(name: str, dtype: dt.dtype, budget: str = "standard") -> list[Example]:
    return list(examples(Subject("cpu"), vocabulary[name], dtype, BUDGETS[budget]))


@pytest.mark.parametrize("dtype", [dt.float32, dt.bfloat16, dt.int32])
def test_one_part_of_a_line_has_all_that_is_chosen(dtype: dt.dtype) -> None:
    """Along either dim, more winners lie in two blocks of 1024 than blocks are many."""
    dims = set()
    for call in drawn("topk", dtype):
        assert call.case is not None
        a, k = call.case.args[:2]
        dim = call.case.kwargs.get("dim", (*call.case.args[2:], -1)[0])
        if isinstance(dim, int) and k > 128:
            lines = np.moveaxis(a, dim, -1)
            line = lines.reshape(-1, lines.shape[-1])[0].astype(np.float64)
            best = np.argsort(-line, kind="stable")[:k]
            assert len(line) > 4096
            if len(np.unique(line)) == len(line):
                assert np.ptp(best) < len(line) // 3
            dims.add(dim % a.ndim)
    assert dims == {0, 1}


def test_rows_of_other_ops_are_as_they_were() -> None:
    """What an op is not called with more of is drawn as before."""
    sizes = {e.size for e in drawn("softmax", dt.float32)}
    assert not any(s.isdigit() and int(s) % 4099 == 0 for s in sizes)


@pytest.mark.parametrize("name", ["determinant", "lu_factorise", "solve_linear"])
def test_matrices_have_more_columns_than_a_word_has_bits(name: str) -> None:
    """Past 32 and past 64, by one row that is exchanged and by several."""
    columns = {e.arrays()[0].shape[-1] for e in drawn(name, dt.float64)}
    assert {34, 47, 66} <= columns


@pytest.mark.parametrize("name", ["adam_step_", "layer_norm", "rms_norm"])
def test_nothing_is_beside_an_eps_that_half_precision_does_not_hold(name: str) -> None:
    """All numbers are 0, the eps is not."""
    some = [e for e in drawn(name, dt.float16) if 1e-8 in _numbers(e)]
    assert some
    for call in some:
        assert not any(np.any(a) for a in call.arrays())


def _numbers(call: Example) -> list[float]:
    assert call.case is not None
    given = (*call.case.args, *call.case.kwargs.values())
    return [x for x in given if isinstance(x, float)]


def test_odd_numbers_beyond_a_word_are_exponents_of_minus_one() -> None:
    """In double precision, which holds such."""
    odd = [2.0**p + by for p in (31, 32) for by in (-1, 1)]
    found = [
        bool(np.any((a == -1) & np.isin(b, odd)))
        for a, b in (e.arrays() for e in drawn("float_pow", dt.float64))
        if a.shape == b.shape
    ]
    assert any(found)


def test_rows_of_a_layer_norm_grow_with_the_shape_that_names_them() -> None:
    """The shape is an argument, so that it follows."""
    long = {e.arrays()[0].shape[-1] for e in drawn("layer_norm", dt.float32)}
    assert {67, 1027} <= long


def test_rows_far_from_zero_have_a_small_eps() -> None:
    """The square of the mean is more than a thousand variances, and no eps hides it."""
    far = []
    for call in drawn("layer_norm", dt.float32):
        a = call.arrays()[0].astype(np.float64)
        if 1e-5 in _numbers(call) and a.size:
            far.append(np.mean(a) ** 2 > 1000 * np.var(a) > 1e-2)
    assert any(far)


def test_odd_rows_are_long_where_places_come_again() -> None:
    """Of what is added at places of another dim."""
    found = []
    for call in drawn("index_add", dt.float32):
        a, index, _ = call.arrays()
        odd = a.ndim > 1 and a.shape[-1] > 32 and a.shape[-1] % 2
        found.append(bool(odd) and len(np.unique(index)) < index.size)
    assert any(found)


def mutant(name: str) -> Mutant:
    return next(m for m in CATALOGUE if m.name == f"latent/{name}")


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("winners-of-a-block", Check("topk", "float32", "forward")),
        ("parity-of-a-word", Check("determinant", "float64", "forward")),
        ("variance-at-once", Check("layer_norm", "float32", "forward")),
        ("eps-in-half", Check("adam_step_", "float16", "forward")),
        ("what-is-left", Check("cumsum", "float32", "spread")),
        ("cells-alone", Check("lstm_sequence", "float32", "asked_apart")),
        ("failures-in-front", Check("cholesky_factor", "float32", "failed_members")),
    ],
)
def test_each_is_what_tells_a_fault(name: str, check: Check) -> None:
    """The device with the fault fails the check, and the sound one passes it."""
    with mutant(name).planted() as device:
        found = judge(Subject(device), check, BUDGETS["standard"])
    assert found.outcome in BAD
    with mutant(name).sane() as device:
        found = judge(Subject(device), check, BUDGETS["standard"])
    assert found.outcome not in BAD, found.failures


def test_an_infinite_cotangent_of_floor_is_no_gradient() -> None:
    """As nothing that comes in is: floor has no slope."""
    x = dt.tensor([0.5, 1.5], requires_grad=True)
    (found,) = dt.autograd.grad(x.floor(), x, dt.tensor([math.inf, math.nan]))
    assert found.tolist() == [0, 0]
