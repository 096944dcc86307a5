"""Normalisations of one dtype with parameters of another, as torch takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt

DTYPES = ("bfloat16", "float16", "float32", "float64")
VALUES = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
WEIGHTS = np.linspace(0.5, 1.5, 4).astype(np.float32)

Call = Callable[[Any, Any, Any], Any]
NORMS: dict[str, Call] = {
    "batch_norm": lambda m, x, w: m.nn.functional.batch_norm(
        x, None, None, w, w, training=True
    ),
    "batch_norm, running": lambda m, x, w: m.nn.functional.batch_norm(x, w, w, w, w),
    "batch_norm, no weight": lambda m, x, w: m.nn.functional.batch_norm(x, w, w),
    "instance_norm": lambda m, x, w: m.nn.functional.instance_norm(
        x, None, None, w, w
    ),
    "group_norm": lambda m, x, w: m.nn.functional.group_norm(x, 2, w, w),
    "layer_norm": lambda m, x, w: m.nn.functional.layer_norm(
        x.transpose(1, 2), (4,), w, w
    ),
    "layer_norm, no bias": lambda m, x, w: m.nn.functional.layer_norm(
        x.transpose(1, 2), (4,), w
    ),
    "rms_norm": lambda m, x, w: m.nn.functional.rms_norm(x.transpose(1, 2), (4,), w),
}  # fmt: skip


def _run(m: Any, call: Call, of_input: str, of_weight: str) -> Any:
    """Result and gradients, by dtype and values; None where they are refused."""
    x = m.tensor(VALUES).to(getattr(m, of_input)).requires_grad_()
    w = m.tensor(WEIGHTS).to(getattr(m, of_weight))
    if "running" not in str(call) and call is not NORMS["batch_norm, no weight"]:
        w = w.requires_grad_(call is not NORMS["batch_norm, running"])
    try:
        y = call(m, x, w)
    except RuntimeError:
        return None
    (
        y.float() * m.tensor(np.sin(np.arange(60.0))).reshape(y.shape).float()
    ).sum().backward()
    return [
        (str(t.dtype).split(".")[-1], t.detach().float().numpy())
        for t in (y, x.grad, w.grad) if t is not None
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Mismatch dtype between:UserWarning")
@pytest.mark.parametrize("of_weight", DTYPES)
@pytest.mark.parametrize("of_input", DTYPES)
@pytest.mark.parametrize("name", NORMS)
def test_dtypes_and_values_are_torchs(name: str, of_input: str, of_weight: str) -> None:
    """16 bits with parameters of 32 stay 16 bits; what torch refuses is refused."""
    ours, theirs = (_run(m, NORMS[name], of_input, of_weight) for m in (dt, torch))
    assert (ours is None) == (theirs is None)
    for (dtype, values), (wanted, truth) in zip(ours or [], theirs or [], strict=True):
        assert dtype == wanted
        loose = 3e-2 if "bfloat16" in (of_input, of_weight) else 4e-3
        tolerance = loose if "float16" in of_input + of_weight else 1e-4
        np.testing.assert_allclose(values, truth, rtol=tolerance, atol=tolerance)


def test_convolutions_and_norms_keep_the_format_of_autocast() -> None:
    """What follows a convolution in 16 bits has 16 bits, in training and evaluation."""
    for m in (dt, torch):
        conv, norm = m.nn.Conv2d(2, 4, 1), m.nn.BatchNorm2d(4)
        for training in (True, False):
            norm.train(training)
            with m.autocast("cpu", dtype=m.bfloat16):
                assert norm(conv(m.ones(2, 2, 3, 3))).dtype is m.bfloat16
