"""The scaling of gradients, beside torch's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

import dovetail


def run(frame: Any, bad: set[int], **given: Any) -> list[Any]:
    """Scales, parameters and the state over six steps, some of which overflow."""
    p = frame.tensor([1.0, 2.0], requires_grad=True)
    made = frame.optim.SGD([p], lr=0.1, momentum=0.9)
    scaler = frame.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, **given)
    found: list[Any] = []
    for i in range(6):
        made.zero_grad()
        loss = (p * p).sum() * (float("inf") if i in bad else 1.0)
        scaled = scaler.scale([loss, (loss,)])
        scaled[1][0].backward()
        if i % 2:
            scaler.unscale_(made)
        scaler.step(made)
        scaler.update()
        found += [scaler.get_scale(), *p.detach().numpy().tolist()]
    if given.get("enabled", True):
        scaler.update(4.0)
    return [*found, scaler.state_dict()]


@pytest.mark.parametrize("bad", [set(), {0, 3}, {1, 2, 3, 4}])
def test_scales_and_steps_are_torchs(bad: set[int]) -> None:
    """The scale backs off and grows, and bad steps are left out."""
    ours, theirs = run(dovetail, bad), run(torch, bad)
    assert ours[-1] == theirs[-1]
    np.testing.assert_allclose(ours[:-1], theirs[:-1], rtol=1e-6)


def test_without_scaling_all_steps_are_made() -> None:
    """A scaler that is not enabled has a scale of one and an empty state."""
    assert run(dovetail, set(), enabled=False)[-1] == {}
    assert run(dovetail, set(), enabled=False)[0] == 1.0
    with pytest.warns(UserWarning, match="there is no device 'absent'"):
        assert not dovetail.amp.GradScaler("absent").is_enabled()


def test_scalers_go_on() -> None:
    """By state dict and by pickle, at the end of an iteration."""
    scaler = dovetail.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(dovetail.ones(1))
    other = dovetail.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 4.0
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == 4.0


def test_calls_out_of_order_are_refused() -> None:
    """Each call says which one it needs before, or must not have."""
    p = dovetail.ones(1, requires_grad=True)
    made = dovetail.optim.SGD([p])
    scaler = dovetail.amp.GradScaler("cpu")
    with pytest.raises(RuntimeError, match="scale"):
        scaler.update()
    scaler.scale(p.sum()).backward()
    with pytest.raises(RuntimeError, match="not looked at"):
        scaler.update()
    scaler.unscale_(made)
    with pytest.raises(RuntimeError, match="past unscale_"):
        scaler.unscale_(made)
    scaler.step(made)
    with pytest.raises(RuntimeError, match="past step"):
        scaler.step(made)
    with pytest.raises(RuntimeError, match="closure"):
        scaler.step(made, closure=lambda: 0)


class Context:
    """What a custom Function's methods are given first."""


@pytest.mark.parametrize("cast", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_custom_methods_have_torchs_precision(cast: bool, inside: bool) -> None:
    """Of inputs, of products in forward, and of products in backward outside."""
    found = []
    for frame in (dovetail, torch):
        ctx: Any = Context()
        lower = {"cast_inputs": frame.float32} if cast else {}

        @frame.amp.custom_fwd(device_type="cpu", **lower)
        def forward(ctx: Any, x: Any, more: Any) -> Any:
            return [x.dtype, more["y"].dtype, (x @ x).dtype]

        @frame.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, x: Any) -> Any:
            return (x @ x).dtype

        x = frame.ones(2, 2)
        y = frame.ones(2, 2, dtype=frame.bfloat16)
        with frame.autocast("cpu", enabled=inside):
            dtypes = forward(ctx, x, {"y": y})
        dtypes.append(backward(ctx, x))
        found.append([str(d).partition(".")[2] for d in dtypes])
    assert found[0] == found[1]
