"""What the generated calls cover, and how many shapes they take."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.meta import planted

import dovetail as dt
from dovetail.conformance import laws  # noqa: F401  registers them
from dovetail.conformance.budget import BUDGETS, budget
from dovetail.conformance.example import Example
from dovetail.conformance.examples import examples
from dovetail.conformance.law import LAWS
from dovetail.conformance.laws.sampling import own
from dovetail.conformance.subject import Subject
from dovetail.engine.op import Op, vocabulary

STANDARD = BUDGETS["standard"]


class Compiles(planted.Sound):
    """A backend that compiles a kernel for each shape."""

    compiles_per_shape = True


@pytest.fixture
def compiling() -> Iterator[Subject]:
    """The device of `Compiles`."""
    with planted.device(Compiles) as name:
        yield Subject(name)


def drawn(subject: Subject, op: Op, dtype: dt.dtype = dt.float32) -> list[Example]:
    """The calls of an op at `standard`."""
    return list(examples(subject, op, dtype, STANDARD))


def shapes(subject: Subject, name: str) -> set[tuple[tuple[int, ...], ...]]:
    """The shapes of arguments that an op is called with, in a few dtypes."""
    dtypes = dt.float32, dt.float64, dt.int32, dt.int64
    calls = [c for d in dtypes for c in drawn(subject, vocabulary[name], d)]
    return {tuple(a.shape for a in call.arrays()) for call in calls}


@pytest.mark.parametrize("name", ["add", "amax", "cumsum", "exp", "where"])
def test_devices_that_compile_see_few_shapes(name: str, compiling: Subject) -> None:
    """Where a shape is slow when first seen, fewer of them are tried, of all sizes."""
    few, many = shapes(compiling, name), shapes(Subject("cpu"), name)
    assert len(few) < 0.8 * len(many), f"{len(few)} of {len(many)}"
    assert {0, 1 << 16} <= {round_(a) for shape in few for a in shape}


def round_(shape: tuple[int, ...]) -> int:
    """The number of elements, up to 2^16."""
    return min(int(np.prod(shape)), 1 << 16)


@pytest.mark.parametrize("name", ["add", "matmul", "amax"])
def test_another_seed_draws_others(name: str) -> None:
    """Most calls beside the op's own cases differ, and a seed draws the same again."""
    op, cpu = vocabulary[name], Subject("cpu")
    usual, other, again = (
        {call.label: call for call in examples(cpu, op, dt.float32, limits)}
        for limits in (STANDARD, budget("standard", 1), budget("standard", 1))
    )
    assert other.keys() == again.keys()
    same = [label for label in usual if label in other and not own(usual[label])]
    assert len(same) < len(usual) / 2


@pytest.mark.parametrize(
    "name", ["adaptive_avg_pool_backward", "masked_select", "normalise", "topk", "add"]
)
def test_empty_calls_are_among_them(name: str) -> None:
    """A call without elements is found for ops that refuse most such sizes."""
    calls = drawn(Subject("cpu"), vocabulary[name])
    assert any(call.size == "empty" for call in calls)


@pytest.mark.parametrize("name", ["avg_pool", "masked_select", "convolution", "topk"])
def test_large_calls_are_among_them(name: str) -> None:
    """Calls reach 2^16 elements, whatever the op's shape rule is."""
    calls = drawn(Subject("cpu"), vocabulary[name])
    assert max(a.size for call in calls for a in call.arrays()) > 1 << 15


@pytest.mark.parametrize("name", ["unique", "scatter_reduce"])
def test_bodies_that_may_loop_are_not_called_on_the_longest_rows(name: str) -> None:
    """They take a step for each column, or for each value that a place meets."""
    calls = LAWS["body"].examples(Subject("cpu"), vocabulary[name], dt.uint8, STANDARD)
    longest = max(n for call in calls for a in call.arrays() for n in a.shape)
    assert 256 < longest <= 4097


@pytest.mark.parametrize("name", ["determinant", "lu_factorise", "solve_linear"])
def test_rows_have_to_be_exchanged(name: str) -> None:
    """The first pivot is in the last row of one matrix, the second is 0 in another."""
    calls = drawn(Subject("cpu"), vocabulary[name])
    found = [c.case.args[0] for c in calls if c.case]
    matrices = [a.reshape(-1, *a.shape[-2:])[-1] for a in found if a.size]
    square = [a for a in matrices if a.shape[0] == a.shape[1] > 2]
    assert any(not a[:-1, 0].any() and a[-1, 0] for a in square)
    assert any(np.array_equal(a[0, :2], a[1, :2]) and a[0, 0] for a in square)
