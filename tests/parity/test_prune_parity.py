"""Pruning beside torch's: masks, names, what a call computes, and removal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

WEIGHT = np.random.RandomState(1).randn(4, 3, 2).astype("f")
MASK = (WEIGHT > 0).astype("f")


def layer(frame: Any) -> Any:
    made = frame.nn.Conv1d(3, 4, 2)
    made.load_state_dict({
        "weight": frame.tensor(WEIGHT), "bias": frame.tensor([0.1, 0.2, 0.3, -0.4]),
    })  # fmt: skip
    return made


def prune_of(frame: Any) -> Any:
    from importlib import import_module

    return import_module(f"{frame.__name__}.nn.utils.prune")


def facts(frame: Any, made: Any) -> dict[str, Any]:
    """What is in it, and what it computes."""
    x = frame.tensor(np.linspace(-1, 1, 15, dtype="f").reshape(1, 3, 5))
    found = {"result": made(x).detach().numpy()}
    found |= {k: v.numpy() for k, v in made.state_dict().items()}
    return found


STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "identity": lambda p, m, t: p.identity(m, "weight"),
    "count": lambda p, m, t: p.l1_unstructured(m, "weight", 5),
    "share": lambda p, m, t: p.l1_unstructured(m, "bias", 0.5),
    "scores": lambda p, m, t: p.l1_unstructured(
        m, "weight", 0.25, importance_scores=t(np.arange(24.0).reshape(4, 3, 2))
    ),
    "channels": lambda p, m, t: p.ln_structured(m, "weight", 2, n=2, dim=0),
    "columns": lambda p, m, t: p.ln_structured(m, "weight", 0.34, n=1, dim=1),
    "mask": lambda p, m, t: p.custom_from_mask(m, "weight", t(MASK)),
    "again": lambda p, m, t: p.l1_unstructured(
        p.ln_structured(p.custom_from_mask(m, "weight", t(MASK)), "weight", 1, 2, 0),
        "weight", 3,
    ),
    "all": lambda p, m, t: p.global_unstructured(
        [(m, "weight"), (m, "bias")], pruning_method=p.L1Unstructured, amount=0.4
    ),
    "all that is left": lambda p, m, t: p.global_unstructured(
        [(p.custom_from_mask(m, "weight", t(MASK)), "weight"), (m, "bias")],
        pruning_method=p.L1Unstructured, amount=0.5,
    ),
    "removed": lambda p, m, t: p.remove(p.l1_unstructured(m, "weight", 0.3), "weight"),
}  # fmt: skip


@pytest.mark.parametrize("case", STEPS)
def test_pruned_layers_are_torchs(case: str) -> None:
    """Masks, state dicts and results."""
    found = []
    for frame in (dovetail, torch):
        made, prune = layer(frame), prune_of(frame)
        STEPS[case](prune, made, lambda v, f=frame: f.tensor(v, dtype=f.float32))
        found.append((facts(frame, made), prune.is_pruned(made)))
    (ours, pruned), (theirs, torchs) = found
    assert pruned == torchs
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        np.testing.assert_allclose(ours[name], value, rtol=1e-5, atol=1e-6)


def test_gradients_reach_what_is_left() -> None:
    """And what is pruned has none, over several steps."""
    made = layer(dovetail)
    prune_of(dovetail).custom_from_mask(made, "weight", dovetail.tensor(MASK))
    optimizer = dovetail.optim.SGD(made.parameters(), lr=0.1)
    for _ in range(2):
        made(dovetail.ones(1, 3, 5)).sum().backward()
        assert bool((made.weight_orig.grad[dovetail.tensor(MASK) == 0] == 0).all())
        optimizer.step()
        optimizer.zero_grad()
    assert bool((made(dovetail.ones(1, 3, 5)) != 0).any())
    assert np.array_equal(
        made.weight_orig.detach().numpy()[MASK == 0], WEIGHT[MASK == 0]
    )


def test_random_pruning_keeps_the_number() -> None:
    """Of elements, and of channels."""
    prune = prune_of(dovetail)
    made = prune.random_unstructured(layer(dovetail), "weight", 7)
    assert (made.weight_mask == 0).sum().item() == 7
    made = prune.random_structured(layer(dovetail), "weight", 2, dim=0)
    assert (made.weight_mask.flatten(1).sum(1) == 0).sum().item() == 2


def test_wrong_calls_are_refused() -> None:
    """And change nothing."""
    prune, made = prune_of(dovetail), layer(dovetail)
    with pytest.raises(ValueError, match="amount"):
        prune.l1_unstructured(made, "weight", 1.5)
    with pytest.raises(TypeError, match="no parameter"):
        prune.l1_unstructured(made, "nothing", 1)
    with pytest.raises(ValueError, match="not pruned"):
        prune.remove(made, "weight")
    with pytest.raises(TypeError, match="unstructured"):
        prune.global_unstructured([(made, "weight")], prune.LnStructured, amount=1, n=2)
    assert not prune.is_pruned(made)


def test_stateless_calls() -> None:
    """`nn.utils.stateless.functional_call` is `func.functional_call`."""
    from dovetail.nn.utils.stateless import functional_call

    made, x = layer(dovetail), dovetail.ones(1, 3, 5)
    zeros = {"weight": dovetail.zeros(4, 3, 2)}
    assert functional_call(made, zeros, (x,))[0, :, 0].tolist() == made.bias.tolist()
