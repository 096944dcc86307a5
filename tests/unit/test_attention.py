"""Attention by blocks: what it computes, and that its memory grows with the length."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.errors import ShapeError
from dovetail.ops.attention import attention, mixture
from dovetail.xp import attention as kernels

F = dt.nn.functional
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "heads": ((2, 3, 70, 8), (2, 3, 70, 8), (2, 3, 70, 5)),
    "other lengths": ((3, 90, 4), (3, 40, 4), (3, 40, 6)),
    "more keys": ((3, 40, 4), (3, 90, 4), (3, 90, 6)),
    "shared keys": ((4, 2, 50, 4), (2, 60, 4), (1, 60, 3)),
    "no keys": ((2, 5, 4), (2, 0, 4), (2, 0, 3)),
    "alone": ((61, 8), (50, 8), (50, 6)),
}


def drawn(shape: tuple[int, ...], seed: int) -> Any:
    """Numbers of both signs, that ask for gradients."""
    values = np.random.default_rng(seed).standard_normal(shape)
    return dt.tensor(values, requires_grad=True)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", ["none", "shared", "each"])
@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_are_the_whole(
    shape: str, mask: str, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values and gradients are those of attention with all weights at once."""
    monkeypatch.setattr(kernels, "BLOCK", 700)
    sizes = SHAPES[shape]
    scores = (*sizes[0][:-1], sizes[1][-2])
    masks = {"none": None, "shared": (1, scores[-1]), "each": scores}
    hidden = masks[mask] and drawn(masks[mask], 9)  # type: ignore[arg-type]
    found = []
    for op in (mixture, lambda *a: attention(*a)[0]):
        inputs = [drawn(s, i) for i, s in enumerate(sizes)]
        y = op(*inputs, hidden, causal, 0.7)
        y.backward(dt.tensor(np.random.default_rng(7).standard_normal(y.shape)))
        grads = [x.grad for x in inputs]
        if hidden is not None:
            grads.append(hidden.grad)
            hidden.grad = None
        found.append([y, *grads])
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got.detach(), want.detach(), rtol=1e-9, atol=1e-11)


def peak(length: int) -> int:
    """The most bytes in use while attention and its gradient are computed."""
    q, k, v = (dt.rand(2, length, 16, requires_grad=True) for _ in range(3))
    tracemalloc.start()
    try:
        F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_grows_with_the_length() -> None:
    """Sequences that are twice as long need twice the memory, not four times."""
    peak(600)
    assert peak(2400) < 2.2 * peak(1200)


@pytest.mark.parametrize("place", ["ct", "q", "k", "v", "mask"])
def test_what_is_not_finite_reaches_what_it_does(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A NaN or an infinity at a hidden key has the say that it has without blocks."""
    monkeypatch.setattr(kernels, "BLOCK", 700)
    values = {n: np.random.default_rng(i).standard_normal((2, 60, 4))
              for i, n in enumerate(("ct", "q", "k", "v"))}  # fmt: skip
    values["mask"] = np.zeros((60, 60))
    values[place][..., -1, 1] = np.inf if place == "mask" else np.nan
    found = []
    for op in (mixture, lambda *a: attention(*a)[0]):
        inputs = [dt.tensor(values[n], requires_grad=True) for n in ("q", "k", "v")]
        y = op(*inputs, dt.tensor(values["mask"]), True, 0.7)
        y.backward(dt.tensor(values["ct"]))
        found.append([y.detach(), *[x.grad for x in inputs]])
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("op", [attention, mixture])
def test_a_mask_does_not_widen_the_scores(op: Any) -> None:
    """A mask for more keys than there are is refused, by its name."""
    q, k, v = dt.ones(1, 1), dt.ones(1, 1), dt.ones(2, 1)
    with pytest.raises(ShapeError, match="mask is of shape"):
        op(q, k, v, dt.ones(1, 2), False, 1.0)
