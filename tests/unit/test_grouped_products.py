"""Products of groups, and of 8-bit floats with scales, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dt
from dovetail.errors import DovetailError
from dovetail.nn import functional as F

Array = np.ndarray[Any, Any]
TENSORS = F.ScalingType.TensorWise
ROWS = F.ScalingType.RowWise


@st.composite
def cuts(draw: st.DrawFn) -> tuple[list[int], int]:
    """Ends of groups, and how many rows there are: some groups and the rest empty."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    return np.cumsum(sizes).tolist(), sum(sizes) + draw(st.integers(0, 2))


def drawn(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def ends_of(ends: list[int]) -> dt.Tensor:
    return dt.tensor(ends, dtype=dt.int32)


@given(cuts())
def test_rows_are_multiplied_by_the_matrix_of_their_group(
    cut: tuple[list[int], int],
) -> None:
    """What is beyond the last group is zero, and so are its gradients."""
    ends, rows = cut
    a = dt.tensor(drawn(rows, 3), requires_grad=True)
    b = dt.tensor(drawn(len(ends), 3, 2), requires_grad=True)
    y = F.grouped_mm(a, b, offs=ends_of(ends))
    y.sum().backward()
    want, grad = np.zeros((rows, 2)), np.zeros((rows, 3))
    for group, (i, j) in enumerate(zip([0, *ends], ends, strict=False)):
        matrix = b.detach().numpy()[group]
        want[i:j] = a.detach().numpy()[i:j] @ matrix
        grad[i:j] = matrix.sum(1)
        rows_sum = a.detach().numpy()[i:j].sum(0)[:, None]
        np.testing.assert_allclose(b.grad.numpy()[group], np.tile(rows_sum, 2))
    np.testing.assert_allclose(y.detach().numpy(), want)
    np.testing.assert_allclose(a.grad.numpy(), grad)


@given(cuts())
def test_columns_and_inner_dims_are_cut_alike(cut: tuple[list[int], int]) -> None:
    """Columns where the first has groups; what is summed over where neither has."""
    ends, size = cut
    spans = list(zip([0, *ends], ends, strict=False))
    a, b = drawn(len(ends), 3, 2), drawn(2, size)
    y = F.grouped_mm(dt.tensor(a), dt.tensor(b), offs=ends_of(ends)).numpy()
    want = np.zeros((3, size))
    for group, (i, j) in enumerate(spans):
        want[:, i:j] = a[group] @ b[:, i:j]
    np.testing.assert_allclose(y, want)
    a, b = drawn(3, size), drawn(size, 2)
    y = F.grouped_mm(dt.tensor(a), dt.tensor(b), offs=ends_of(ends)).numpy()
    np.testing.assert_allclose(y, np.stack([a[:, i:j] @ b[i:j] for i, j in spans]))


def test_groups_of_both_are_a_batch() -> None:
    """No ends are needed, and none taken."""
    a, b = drawn(2, 3, 4), drawn(2, 4, 5)
    y = F.grouped_mm(dt.tensor(a), dt.tensor(b))
    np.testing.assert_allclose(y.numpy(), a @ b)
    with pytest.raises(ValueError, match="offs is given, needed None"):
        F.grouped_mm(dt.tensor(a), dt.tensor(b), offs=ends_of([1, 2]))


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "ends that decrease": ({"offs": ends_of([2, 1])}, ValueError, "do not decrease"),
    "ends beyond": ({"offs": ends_of([2, 9])}, ValueError, "up to 3"),
    "below zero": ({"offs": ends_of([-1, 2])}, ValueError, "do not decrease"),
    "too few ends": ({"offs": ends_of([3])}, RuntimeError, r"needed \[2\]"),
    "long ends": ({"offs": dt.tensor([1, 3])}, RuntimeError, "needed int32"),
    "no ends": ({}, RuntimeError, "the end of each group"),
    "a bias": ({"offs": ends_of([1, 3]), "bias": dt.ones(2)}, RuntimeError, "bias"),
    "another dtype": (
        {"offs": ends_of([1, 3]), "out_dtype": dt.float64}, RuntimeError, "out_dtype",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_cut_is_refused(name: str) -> None:
    """By torch's class of error."""
    given, error, text = BAD[name]
    with pytest.raises(error, match=text) as caught:
        F.grouped_mm(dt.ones(3, 4), dt.ones(2, 4, 2), **given)
    assert isinstance(caught.value, DovetailError)


def of_eight_bits(*shape: int) -> tuple[dt.Tensor, Array]:
    """8-bit floats, and their values."""
    made = dt.tensor(drawn(*shape)).to(dt.float8_e4m3fn)
    return made, made.to(dt.float64).numpy()


def test_a_scale_belongs_to_a_matrix_or_to_a_row() -> None:
    """The bias is added to what is scaled."""
    (a, x), (b, y) = of_eight_bits(4, 6), of_eight_bits(6, 3)
    one, two = dt.tensor(3.0), dt.tensor([[0.5]])
    got = F.scaled_mm(a, b, one, TENSORS, two, TENSORS, output_dtype=dt.float32)
    np.testing.assert_allclose(got.numpy(), x @ y * 1.5, rtol=1e-5, atol=1e-6)
    rows, columns = drawn(4, 1).astype("f4"), drawn(1, 3).astype("f4")
    got = F.scaled_mm(
        a, b, [dt.tensor(rows)], [ROWS], [dt.tensor(columns)], [ROWS],
        [F.SwizzleType.NO_SWIZZLE], bias=dt.ones(3), output_dtype=dt.float32,
    )  # fmt: skip
    want = (rows * x) @ (y * columns) + 1
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)
    assert F.scaled_mm(a, b, one, TENSORS, one, TENSORS).dtype is dt.bfloat16


def test_scales_of_groups_follow_the_cut() -> None:
    """A scale for each row of each group, in all ways to cut."""
    ends, spans = ends_of([1, 4]), [(0, 1), (1, 4)]

    def product(a: Any, b: Any, s: Array, t: Array, **cut: Any) -> Array:
        left, right = dt.tensor(s.astype("f4")), dt.tensor(t.astype("f4"))
        return F.scaled_grouped_mm(
            a, b, left, ROWS, right, ROWS, output_dtype=dt.float32, **cut
        ).numpy()

    (a, x), (b, y) = of_eight_bits(4, 6), of_eight_bits(2, 6, 3)
    s, t = drawn(4), drawn(2, 3)
    want = [s[i:j, None] * x[i:j] @ y[g] * t[g] for g, (i, j) in enumerate(spans)]
    got = product(a, b, s, t, offs=ends)
    np.testing.assert_allclose(got, np.concatenate(want), rtol=1e-4, atol=1e-5)
    (a, x), (b, y) = of_eight_bits(3, 4), of_eight_bits(4, 2)
    s, t = drawn(6), drawn(4)
    want = [
        s[3 * g : 3 * g + 3, None] * (x[:, i:j] @ y[i:j]) * t[2 * g : 2 * g + 2]
        for g, (i, j) in enumerate(spans)
    ]
    got = product(a, b, s, t, offs=ends)
    np.testing.assert_allclose(got, np.stack(want), rtol=1e-4, atol=1e-5)
    (a, x), (b, y) = of_eight_bits(2, 3, 6), of_eight_bits(2, 6, 5)
    s, t = drawn(2, 3), drawn(2, 5)
    got = product(a, b, s, t)
    want = s[:, :, None] * (x @ y) * t[:, None]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_scales_that_do_not_fit_are_refused() -> None:
    """Blocks, other dtypes, and counts that are no rows'."""
    a, b = of_eight_bits(4, 6)[0], of_eight_bits(6, 3)[0]
    one = dt.tensor(1.0)
    blocks = F.ScalingType.BlockWise1x32
    with pytest.raises(ValueError, match="TensorWise or RowWise"):
        F.scaled_mm(a, b, one, blocks, one, blocks)
    with pytest.raises(ValueError, match="for both operands"):
        F.scaled_mm(a, b, one, TENSORS, one, ROWS)
    with pytest.raises(RuntimeError, match="8-bit floats"):
        F.scaled_mm(a.float(), b, one, TENSORS, one, TENSORS)
    with pytest.raises(RuntimeError, match="needed float32"):
        F.scaled_mm(a, b, one.double(), TENSORS, one, TENSORS)
    with pytest.raises(RuntimeError, match=r"of shape \(4, 1\)"):
        F.scaled_mm(a, b, dt.ones(4), ROWS, dt.ones(1, 3), ROWS)
    with pytest.raises(NotImplementedError, match="NO_SWIZZLE"):
        F.scaled_mm(
            a, b, one, TENSORS, one, TENSORS, F.SwizzleType.SWIZZLE_32_4_4
        )  # fmt: skip
