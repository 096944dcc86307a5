"""Rarer names of modules beside torch's."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt


def _orthogonal(lib: Any, w: Any, x: Any, how: str, trivial: bool) -> list[Any]:
    """An orthogonal weight, after a step of what it is made of, and assigned."""
    net = lib.nn.Linear(*w.shape[::-1], bias=False).double()
    with lib.no_grad():
        net.weight.copy_(lib.tensor(w))
    lib.nn.utils.parametrizations.orthogonal(
        net, orthogonal_map=how, use_trivialization=trivial
    )
    found = [net.weight.detach().numpy()] if trivial else []
    own = net.parametrizations.weight.original
    with lib.no_grad():
        own.copy_(lib.tensor(x))
        if trivial:
            net.parametrizations.weight[0].base = lib.eye(max(w.shape)).double()
    net.weight.sum().backward()
    return [*found, net.weight.detach().numpy(), own.grad.numpy()]


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_orthogonal_maps(shape: Any, how: str, trivial: bool) -> None:
    """Each map of the same numbers, and its gradient."""
    drawn = np.random.default_rng(3)
    w, x = drawn.normal(size=(2, *shape))
    i = np.arange(min(shape))
    x[i, i] = np.where(x[i, i] < 0, -1.0, 1.0)  # as reflections have it
    w = np.linalg.qr(w)[0] if shape[0] >= shape[1] else np.linalg.qr(w.T)[0].T
    ours, theirs = (_orthogonal(m, w, x, how, trivial) for m in (dt, torch))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("kind", ["float", "bool"])
def test_masks_beside_causality(kind: str) -> None:
    """Values and gradients of attention with both."""
    drawn = np.random.default_rng(5)
    qkv = drawn.normal(size=(3, 1, 2, 5, 4)).astype("f4")
    mask = drawn.normal(size=(5, 5)).astype("f4")
    given: Any = mask if kind == "float" else (mask > -0.5) | np.eye(5, dtype=bool)
    found = []
    for m in (dt, torch):
        q, k, v = (m.tensor(x, requires_grad=True) for x in qkv)
        y = m.nn.functional.scaled_dot_product_attention(
            q, k, v, m.tensor(given), is_causal=True
        )
        y.square().sum().backward()
        found.append([y.detach(), q.grad, k.grad, v.grad])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=1e-5)


def test_unsafe_names_are_listed() -> None:
    """Of a module that torch saved: all that is no tensor or container."""
    file = io.BytesIO()
    torch.save({"net": torch.nn.Linear(2, 2), "x": torch.ones(2)}, file)
    file.seek(0)
    theirs = torch.serialization.get_unsafe_globals_in_checkpoint(file)
    file.seek(0)
    assert set(dt.io.get_unsafe_globals_in_checkpoint(file)) == set(theirs)
    state = io.BytesIO()
    torch.save(torch.nn.Linear(2, 2).state_dict(), state)
    state.seek(0)
    assert dt.serialization.get_unsafe_globals_in_checkpoint(state) == []
