"""Choices, shuffles, differences and counts beside torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt

DRAW = np.random.default_rng(9)
ROW = DRAW.standard_normal(6)
X = DRAW.standard_normal((4, 6))
IMAGE = DRAW.standard_normal((2, 8, 4, 6))
EXTREME = np.array([0.0, -0.0, 5e-324, -3.5, 1e308, np.inf, -np.inf, np.nan, 0.75])
SINGLE = np.array([0, -0.0, 1e-45, -3.5, 3e38, np.inf, np.nan, 0.75], "f4")
PLACES = np.array([2, 0, 2])

CALLS: dict[str, Callable[..., Any]] = {
    "combinations": lambda lib, t: lib.combinations(t(ROW), 3),
    "with replacement": lambda lib, t: lib.combinations(t(ROW), 2, True),
    "gradient": lambda lib, t: lib.gradient(t(X), spacing=0.5),
    "gradient at edges": lambda lib, t: lib.gradient(t(X), dim=1, edge_order=2),
    "gradient of points": lambda lib, t: lib.gradient(
        t(X), spacing=(t(np.array([0.0, 1, 3, 4])),), dim=0, edge_order=2
    ),
    "frexp": lambda lib, t: lib.frexp(t(EXTREME)),
    "frexp of 32 bits": lambda lib, t: lib.frexp(t(SINGLE)),
    "histogram": lambda lib, t: lib.histogram(t(X), 5),
    "density": lambda lib, t: lib.histogram(t(X), 4, range=(-1.0, 1.0), density=True),
    "edges": lambda lib, t: lib.histogram(
        t(X), t(np.array([-2.0, 0, 0.5, 1])), weight=t(X * X)
    ),
    "renorm": lambda lib, t: lib.renorm(t(X), 2, 0, 1.5),
    "unravel_index": lambda lib, t: lib.unravel_index(t(PLACES * 5), (3, 4)),
    "nonzero_static": lambda lib, t: lib.nonzero_static(t(X) > 0, size=20),
    "pixel_shuffle": lambda lib, t: lib.pixel_shuffle(t(IMAGE), 2),
    "pixel_unshuffle": lambda lib, t: lib.pixel_unshuffle(t(IMAGE), 2),
    "channel_shuffle": lambda lib, t: lib.channel_shuffle(t(IMAGE), 4),
    "as_strided_scatter": lambda lib, t: lib.as_strided_scatter(
        t(X), t(X[:2, :2]), (2, 2), (6, 1), 3
    ),
    "permute_copy": lambda lib, t: lib.permute_copy(t(IMAGE), (3, 1, 0, 2)),
    "unbind_copy": lambda lib, t: lib.unbind_copy(t(X)),
    **{
        f"index_reduce by {how}": lambda lib, t, how=how: lib.index_reduce(
            t(X), 0, t(PLACES), t(X[:3] * 2), how, include_self=False
        )
        for how in ("prod", "mean", "amax", "amin")
    },
}  # fmt: skip


# torch has none; and that of as_strided_scatter counts its offset twice.
NO_GRADIENT = {"histogram", "edges", "density", "as_strided_scatter"}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name: str) -> None:
    """Results, dtypes and gradients are torch's."""
    results, grads = [], []
    for lib in (dt, torch):
        leaves: list[Any] = []

        def make(a: Any, lib: Any = lib, leaves: list[Any] = leaves) -> Any:
            leaf = lib.tensor(a)
            if leaf.is_floating_point() and name not in NO_GRADIENT:
                leaf.requires_grad_()
                leaves.append(leaf)
            return leaf

        y = CALLS[name](lib, make)
        found = y if isinstance(y, tuple | list) else [y]
        results.append([t.detach().numpy() for t in found])
        if not any(t.requires_grad for t in found):
            continue
        sum((t * t).sum() for t in found if t.requires_grad).backward()
        grads.append([None if v.grad is None else v.grad.numpy() for v in leaves])
    for own, other in zip(*results, strict=True):
        assert own.dtype == other.dtype
        np.testing.assert_allclose(own, other, rtol=1e-10, atol=1e-12)
    for own, other in zip(*grads, strict=True) if grads else ():
        assert (own is None) == (other is None)
        if own is not None and name[:5] != "frexp":
            np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("call", [
    lambda lib: lib.combinations(lib.ones(2, 2)),
    lambda lib: lib.gradient(lib.ones(2), edge_order=3),
    lambda lib: lib.frexp(lib.tensor([1])),
    lambda lib: lib.pixel_shuffle(lib.ones(1, 3, 2, 2), 2),
    lambda lib: lib.renorm(lib.ones(3), 2, 0, 1.0),
    lambda lib: lib.histogram(lib.ones(3), 0),
])  # fmt: skip
def test_refusals(call: Any) -> None:
    """What torch refuses is refused, with an error that torch's users catch."""
    for lib in (torch, dt):
        with pytest.raises((RuntimeError, ValueError, IndexError)):
            call(lib)
