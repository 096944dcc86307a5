"""Attention by functions of the user's, beside torch's and beside plain attention."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch

import dovetail
from dovetail.nn.attention import SDPBackend, flex_attention, sdpa_kernel

FLEX = flex_attention.flex_attention


def given(frame: Any) -> list[Any]:
    """Queries of four heads, keys and values of two, and a table of biases."""
    draw = np.random.RandomState(3)
    shapes = ((2, 4, 6, 8), (2, 2, 9, 8), (2, 2, 9, 8), (4, 20))
    return [frame.tensor(draw.randn(*s).astype("f")) for s in shapes]


def seen(b: int, h: int, i: int, j: int) -> bool:
    """The mask of the first tests, place by place."""
    return i + 3 >= j or (h == 1 and i == 0)


def blocks(frame: Any) -> Any:
    flex = import_module(f"{frame.__name__}.nn.attention.flex_attention")
    causal = flex.and_masks(lambda b, h, i, j: i + 3 >= j, flex.noop_mask)
    mask = flex.or_masks(causal, lambda b, h, i, j: (h == 1) & (i == 0))
    return flex.create_block_mask(mask, 2, 4, 6, 9, BLOCK_SIZE=4, device="cpu")


def test_results_are_those_of_loops() -> None:
    """Biases from a table, masks, shared heads, logarithms of sums."""
    tensors = given(dovetail)
    bias = tensors[3]
    y, lse = FLEX(
        *tensors[:3], lambda s, b, h, i, j: s + bias[h, i - j + 9], blocks(dovetail),
        enable_gqa=True, return_lse=True,
    )  # fmt: skip
    q, k, v, table = (x.numpy().astype("d") for x in tensors)
    for b, h, i in np.ndindex(2, 4, 6):
        scores = np.array([
            q[b, h, i] @ k[b, h // 2, j] / 8**0.5 + table[h, i - j + 9]
            if seen(b, h, i, j) else -np.inf
            for j in range(9)
        ])  # fmt: skip
        weights = np.exp(scores)
        found = weights @ v[b, h // 2] / weights.sum()
        np.testing.assert_allclose(y[b, h, i].numpy(), found, rtol=1e-4, atol=1e-5)
        assert lse[b, h, i].item() == pytest.approx(np.log(weights.sum()), rel=1e-5)


def test_blocks_are_torchs() -> None:
    """Which there are, and the shape."""
    ours, theirs = blocks(dovetail), blocks(torch)
    assert ours.to_dense().tolist() == theirs.to_dense().tolist()
    assert ours.shape == tuple(theirs.shape)


def test_gradients_are_those_of_plain_attention() -> None:
    """By the inputs, where the scores are changed as a mask would change them."""
    flows = []
    for way in ("flex", "plain"):
        q, k, v, _ = given(dovetail)
        k, v = (x.repeat_interleave(2, 1) for x in (k, v))
        leaves = [x.requires_grad_() for x in (q, k, v)]
        far = (dovetail.arange(6)[:, None] - dovetail.arange(9)).abs().float()
        if way == "flex":
            y = FLEX(*leaves, lambda s, b, h, i, j: s - (i - j).abs())
        else:
            y = dovetail.nn.functional.scaled_dot_product_attention(*leaves, -far)
        flows.append(dovetail.autograd.grad(y.sin().sum(), leaves))
    for ours, others in zip(*flows, strict=True):
        np.testing.assert_allclose(ours.numpy(), others.numpy(), rtol=1e-4, atol=1e-6)


def test_queries_that_see_nothing_give_zeros() -> None:
    """And no NaN in gradients."""
    q = dovetail.randn(1, 1, 4, 4, requires_grad=True)
    mask = flex_attention.create_block_mask(
        lambda b, h, i, j: j < i, None, None, 4, 4, BLOCK_SIZE=2
    )
    y = FLEX(q, q, q, block_mask=mask)
    y.sum().backward()
    assert y[0, 0, 0].abs().sum().item() == 0
    assert q.grad is not None
    assert bool(q.grad.isfinite().all())


def test_wrong_masks_are_refused() -> None:
    """A mask for other lengths, and heads that do not fit."""
    q, k, v, _ = given(dovetail)
    mask = flex_attention.create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 5, 5)
    with pytest.raises(ValueError, match="block_mask"):
        FLEX(q, q, q, block_mask=mask)
    with pytest.raises(RuntimeError, match="enable_gqa"):
        FLEX(q, k, v)


def test_the_way_can_be_chosen() -> None:
    """Each way gives the same, and none is an error."""
    q = dovetail.randn(1, 2, 5, 8)
    attend = dovetail.nn.functional.scaled_dot_product_attention
    whole = attend(q, q, q)
    for way in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        with sdpa_kernel(way):
            assert dovetail.allclose(attend(q, q, q), whole, atol=1e-6)
    none = sdpa_kernel([SDPBackend.CUDNN_ATTENTION])
    with none, pytest.raises(ValueError, match="FLASH"):
        attend(q, q, q)
    pieces = dovetail.backends.cuda.sdp_kernel(enable_math=False)
    with pieces, pytest.raises(ValueError, match="MATH"):
        attend(q, q, q, dropout_p=0.5)
