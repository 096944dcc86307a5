"""Floats of 8 bits: stored, moved, cast and compared, and never computed with."""

from __future__ import annotations

import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.dtypes import FLOAT8, DType
from dovetail.errors import DTypeError, StoredDTypeError
from dovetail.float8 import by_table

FORMATS = sorted(FLOAT8, key=lambda d: d.name)
CODES = np.arange(256, dtype=np.uint8)


def codes(x: dt.Tensor) -> Any:
    """The bits of a tensor."""
    return x.contiguous().view(dt.uint8).numpy()


def every(dtype: DType) -> dt.Tensor:
    """All 256 elements of a format."""
    return dt.from_numpy(CODES.copy()).view(dtype)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("source", [dt.float16, dt.bfloat16])
def test_every_number_of_16_bits_is_rounded_to_the_nearest(
    dtype: DType, source: DType
) -> None:
    """Looked up in the table of the format's numbers, ties to even, NaN and all."""
    x = dt.from_numpy(np.arange(1 << 16, dtype=np.uint16)).view(source)
    want = by_table(x.float().numpy(), dtype)
    assert np.array_equal(codes(x.to(dtype)), want.view(np.uint8))


@pytest.mark.parametrize("dtype", FORMATS)
def test_float32_is_rounded_to_the_nearest(dtype: DType) -> None:
    """Beside each bfloat16 number and half way between two: 262,144 numbers."""
    high = np.arange(1 << 16, dtype=np.uint32) << 16
    bits = np.concatenate([high, high + 1, high - 1, high + 0x8000])
    x = dt.from_numpy(bits.view(np.float32))
    want = by_table(x.numpy(), dtype).view(np.uint8)
    assert np.array_equal(codes(x.to(dtype)), want)
    turned = x.reshape(512, 512).t().to(dtype)
    assert np.array_equal(codes(turned), want.reshape(512, 512).T)


@pytest.mark.parametrize("dtype", FORMATS)
def test_values_are_those_of_ml_dtypes(dtype: DType) -> None:
    """Every element as float32 and float64, and back again to the same bits."""
    x, table = every(dtype), CODES.view(dtype.numpy)
    for wide in (dt.float32, dt.float64):
        want = table.astype(wide.numpy)
        np.testing.assert_array_equal(x.to(wide).numpy(), want)
        number = ~np.isnan(want)
        assert np.array_equal(codes(x.to(wide).to(dtype))[number], CODES[number])
    assert x[10].item() == float(table[10])
    assert x[:4].tolist() == table[:4].astype(float).tolist()


@pytest.mark.parametrize("dtype", FORMATS)
def test_what_moves_elements_keeps_their_bits(dtype: DType) -> None:
    """NaN, -0 and all, whichever way they go."""
    x, c = every(dtype).view(16, 16), CODES.reshape(16, 16)
    at, mask = dt.tensor([3, 1]), dt.tensor([True, False] * 8)
    for got, want in (
        (x.t(), c.T), (x[2:9:3, ::2], c[2:9:3, ::2]), (x.clone(), c),
        (dt.cat([x, x], 1), np.concatenate([c, c], 1)), (x[at], c[[3, 1]]),
        (dt.stack([x, x]), np.stack([c, c])), (x.repeat(2, 1), np.tile(c, (2, 1))),
        (x.index_select(1, at), c[:, [3, 1]]), (x.flip(0), c[::-1]),
        (x.as_strided((4, 2), (3, 1)), CODES[[[0, 1], [3, 4], [6, 7], [9, 10]]]),
        (x[mask], c[::2]), (dt.where(mask, x, x.t()), np.where(mask.numpy(), c, c.T)),
        (dt.nn.functional.pad(x, (1, 0), value=1.0)[:, 1:], c),
        (x.copy_(x.clone()), c), (x.to(dtype, copy=True), c),
    ):  # fmt: skip
        assert got.dtype is dtype
        assert np.array_equal(codes(got), want)


@pytest.mark.parametrize("dtype", FORMATS)
def test_made_of_numbers(dtype: DType) -> None:
    """Zeros are bits of zero, ones and others are rounded, and lists may overflow."""
    assert not codes(dt.zeros(3, dtype=dtype)).any()
    assert dt.ones(2, dtype=dtype).tolist() == [1.0, 1.0]
    made = dt.tensor([1.7, 1e9, float("nan"), float("inf")], dtype=dtype)
    want = by_table(np.array([1.7, 1e9, np.nan, np.inf]), dtype)
    assert np.array_equal(codes(made), want.view(np.uint8))
    x = dt.empty(2, dtype=dtype).fill_(2)
    x[0] = 4
    assert x.tolist() == [4.0, 2.0]
    assert f"dtype=dovetail.{dtype.name}" in repr(x)
    with pytest.raises(RuntimeError, match="range"):
        dt.full((2,), 1e300, dtype=dtype)


@pytest.mark.parametrize("dtype", FORMATS)
def test_arithmetic_is_refused(dtype: DType) -> None:
    """With the errors that users of PyTorch catch, and a remedy."""
    x = dt.ones(2, dtype=dtype)
    for call in (
        lambda: x + 1, lambda: x + x, lambda: -x, lambda: x.sum(), lambda: x < 1,
        lambda: x.exp(), lambda: x.sort(), lambda: dt.rand(2, dtype=dtype),
        lambda: dt.randn(2, dtype=dtype), lambda: x.random_(), lambda: x.bernoulli_(),
        lambda: dt.randperm(3, dtype=dtype), lambda: x.exponential_(),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match="cast"):
            call()
    assert issubclass(StoredDTypeError, DTypeError)
    with pytest.raises(TypeError, match=r"float\(\)"):
        x.numpy()
    with pytest.raises(TypeError):
        dt.set_default_dtype(dtype)


def test_dtypes_of_8_bits_are_not_promoted() -> None:
    """Neither with each other nor with anything else."""
    for a, b in product(FORMATS, (*FORMATS, dt.float32, dt.int8, dt.bool)):
        if a is b:
            assert dt.promote_types(a, b) is a
            continue
        with pytest.raises(RuntimeError, match="Float8"):
            dt.promote_types(a, b)


@pytest.mark.parametrize("dtype", FORMATS)
def test_comparisons_ask_for_numbers(dtype: DType) -> None:
    """NaN differs from itself; any and all ask for what is not 0."""
    x, want = every(dtype), CODES.view(dtype.numpy).astype(np.float32)
    assert np.array_equal((x == x).numpy(), want == want)  # noqa: PLR0124
    assert np.array_equal((x != 1).numpy(), want != 1)
    assert np.array_equal(x.isnan().numpy(), np.isnan(want))
    assert np.array_equal(x.bool().numpy(), want != 0)
    zero = dt.zeros(3, dtype=dtype)
    assert zero.any().item() is bool(zero.float().any())
    assert x.view(16, 16).all(1).tolist() == (want.reshape(16, 16) != 0).all(1).tolist()


@pytest.mark.parametrize("dtype", FORMATS)
def test_files_pickles_and_capsules(dtype: DType, tmp_path: Path) -> None:
    """What goes out comes back with all bits."""
    x = every(dtype).view(16, 16)
    dt.save({"x": x, "y": x[3:]}, tmp_path / "a")
    read = dt.load(tmp_path / "a")
    assert np.array_equal(codes(read["y"]), codes(x[3:]))
    assert read["x"].dtype is dtype
    assert np.array_equal(codes(pickle.loads(pickle.dumps(x.t()))), codes(x.t()))
    assert np.array_equal(codes(dt.from_dlpack(x)), codes(x))
    assert pickle.loads(pickle.dumps(dtype)) is dtype


@pytest.mark.parametrize("dtype", FORMATS)
def test_gradients_go_through_casts(dtype: DType) -> None:
    """The cotangent is cast back to what the input was."""
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    (x.to(dtype).float() * dt.tensor([2.0, 4.0])).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0]
