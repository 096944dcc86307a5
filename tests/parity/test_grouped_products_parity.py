"""Products of groups, and of 8-bit floats with scales, beside torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt

RNG = np.random.default_rng(4)
ROWS, GROUPS = RNG.normal(size=(8, 16)), RNG.normal(size=(3, 16, 8))
WIDE, LONG = RNG.normal(size=(16, 24)), RNG.normal(size=(24, 16))
SCALED, SCALES = RNG.normal(size=(2, 16, 32)), RNG.random((2, 16)).astype("f4")
WAYS: dict[str, tuple[Any, Any, Any]] = {
    "rows": (ROWS, GROUPS, (3, 3, 8)),
    "columns": (GROUPS.transpose(0, 2, 1).copy(), WIDE, (8, 16, 24)),
    "inner": (WIDE, LONG, (8, 24)),
    "both": (GROUPS.transpose(0, 2, 1).copy(), GROUPS, None),
}


def _grouped(lib: Any, way: str, dtype: str) -> tuple[Any, ...]:
    """The product, and both gradients."""
    left, right, ends = WAYS[way]
    a, b = (
        lib.tensor(x).to(getattr(lib, dtype)).requires_grad_() for x in (left, right)
    )
    offs = None if ends is None else lib.tensor(ends, dtype=lib.int32)
    y = lib.nn.functional.grouped_mm(a, b, offs=offs)
    y.float().square().sum().backward()
    return y, a.grad, b.grad


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("way", WAYS)
def test_groups(way: str, dtype: str) -> None:
    """Results and gradients, of each way to cut."""
    limit = {"float32": 1e-5, "bfloat16": 2e-2, "float16": 4e-3}[dtype]
    both = zip(_grouped(dt, way, dtype), _grouped(torch, way, dtype), strict=True)
    for mine, theirs in both:
        assert str(mine.dtype).replace("dovetail", "torch") == str(theirs.dtype)
        got, want = mine.detach().double().numpy(), theirs.detach().double().numpy()
        np.testing.assert_allclose(
            got, want, rtol=limit, atol=limit * np.abs(want).max()
        )


def _scaled(lib: Any, recipe: str, **options: Any) -> Any:
    F = lib.nn.functional
    a, b = (lib.tensor(x).to(lib.float8_e4m3fn) for x in SCALED)
    way = getattr(F.ScalingType, recipe)
    s, t = (lib.tensor(x) for x in SCALES)
    scales = (s[:, None], t[None]) if recipe == "RowWise" else (s[0], t[0])
    given = {k: v(lib) for k, v in options.items()}
    return F.scaled_mm(a, b.t(), scales[0], way, scales[1], way, **given)


@pytest.mark.parametrize("recipe", ["TensorWise", "RowWise"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float16"])
def test_scales(recipe: str, dtype: str) -> None:
    """Of matrices and of rows, to each dtype, and with a bias."""
    options = {
        "output_dtype": lambda lib: getattr(lib, dtype),
        "bias": lambda lib: lib.ones(16, dtype=lib.bfloat16),
    }
    if dtype == "float32":
        options.pop("bias")
    mine, theirs = _scaled(dt, recipe, **options), _scaled(torch, recipe, **options)
    assert str(mine.dtype).replace("dovetail", "torch") == str(theirs.dtype)
    got, want = mine.double().numpy(), theirs.double().numpy()
    np.testing.assert_allclose(got, want, rtol=1e-2, atol=1e-2)


def test_refusals() -> None:
    """What both refuse."""
    for lib in (torch, dt):
        a, b = lib.ones(4, 16), lib.ones(2, 16, 8)
        product = lib.nn.functional.grouped_mm
        for offs in (None, lib.tensor([2, 4]), lib.tensor([4], dtype=lib.int32)):
            with pytest.raises(RuntimeError):
                product(a, b, offs=offs)
        with pytest.raises(RuntimeError):
            product(a, b.bfloat16(), offs=lib.tensor([2, 4], dtype=lib.int32))
