"""The gradients declared at kinks are those that torch gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from dovetail.conformance.laws import kinks  # noqa: F401  declares them
from dovetail.engine.cases import Kink
from dovetail.engine.op import declared

TORCH: Final[dict[str, Callable[..., Any]]] = {
    "abs": torch.abs,
    "relu": torch.relu,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "amax": torch.amax,
    "amin": torch.amin,
    "max_along": lambda x, d: torch.max(x, d)[0],
    "min_along": lambda x, d: torch.min(x, d)[0],
    "clamp": torch.clamp,
    "hardtanh": F.hardtanh,
    "threshold": F.threshold,
    "leaky_relu": F.leaky_relu,
    "prelu": lambda x, w: torch.prelu(x, w.reshape(1)),
    "elu": F.elu,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "sign": torch.sign,
    "sgn": torch.sgn,
    "max_pool": lambda x, k, *_: F.max_pool1d(x, k),
    "sort": lambda x, d, desc, st: torch.sort(x, dim=d, descending=desc, stable=st)[0],
    "prod": torch.prod,
    "cumprod": torch.cumprod,
    "pow": torch.pow,
    "sqrt": torch.sqrt,
    "vector_norm": lambda x, p: torch.linalg.vector_norm(x, p),
    "hypot": torch.hypot,
    "where": torch.where,
    "nan_to_num": torch.nan_to_num,
    "copysign": torch.copysign,
    "logsumexp": torch.logsumexp,
    "xlogy": torch.xlogy,
    "smooth_l1_loss": lambda a, b, beta: F.smooth_l1_loss(
        a, b, beta=beta, reduction="none"
    ),
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "trunc": torch.trunc,
    "frac": torch.frac,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "atan2": torch.atan2,
    "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2,
    "softplus": F.softplus,
    "std": lambda x, d: torch.std(x, d),
    "var": lambda x, d: torch.var(x, d),
    "rsqrt": torch.rsqrt,
    "log_softmax": F.log_softmax,
    "softmax": F.softmax,
    "logcumsumexp": torch.logcumsumexp,
    "binary_cross_entropy": lambda p, t: F.binary_cross_entropy(p, t, reduction="none"),
    "sinc": torch.sinc,
    "angle": torch.angle,
    "asin": torch.asin,
    "acos": torch.acos,
    "acosh": torch.acosh,
    "log": torch.log,
    "reciprocal": torch.reciprocal,
    "erfinv": torch.erfinv,
    "softsign": F.softsign,
    "logsigmoid": F.logsigmoid,
}

DECLARED = [
    pytest.param(op.name, found, id=f"{op.name}-{i}")
    for op in declared()
    if op.kinks is not None
    for i, found in enumerate(op.kinks())
]


@pytest.mark.parametrize(("name", "found"), DECLARED)
def test_torch_gives_these_gradients(name: str, found: Kink) -> None:
    """Every gradient declared at a kink is torch's, in float64."""
    args = [
        torch.tensor(a, requires_grad=a.dtype.kind == "f")
        if isinstance(a, np.ndarray)
        else a
        for a in found.case.args
    ]
    leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    y = TORCH[name](*args)
    grads = torch.autograd.grad(y, leaves, torch.ones_like(y), allow_unused=True)
    for g, want in zip(grads, found.grads, strict=True):
        if g is None or want is None:
            assert g is want
            continue
        # Some of torch's constants are float32's: 1/6, and 1e-12.
        np.testing.assert_allclose((g + 0).numpy(), want, rtol=1e-7, atol=1e-12)


def test_torch_is_asked_of_every_op() -> None:
    """No op with kinks lacks its torch form here, and no other has one."""
    assert set(TORCH) == {op.name for op in declared() if op.kinks}
