"""torch.masked beside torch's own: what masks drop takes no part."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt

X = np.random.default_rng(4).standard_normal((3, 4)).astype("f4")
KEPT = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]], bool)
ROW = np.array([True, False, True, False])
ALONG: dict[str, Callable[..., Any]] = {
    name: lambda m, x, kept, name=name: getattr(m, name)(x, 1, mask=kept)
    for name in (
        "sum", "prod", "amax", "amin", "argmax", "argmin", "cumsum", "cumprod", "mean",
        "median", "var", "std", "softmax", "log_softmax", "softmin", "logsumexp",
    )
}  # fmt: skip
ALONG["norm"] = lambda m, x, kept: m.norm(x, 3.0, 1, keepdim=True, mask=kept)
ALONG["normalize"] = lambda m, x, kept: m.normalize(x, 2.0, 1, mask=kept)
ALONG["logaddexp"] = lambda m, x, kept: m.logaddexp(x, x * 2, input_mask=kept)


def _found(lib: Any, name: str, kept: Any) -> tuple[Any, Any]:
    """A result, and the gradient of the sum of what of it is finite."""
    x = lib.tensor(X, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's: masks are a prototype there
        y = ALONG[name](lib.masked, x, lib.tensor(kept))
    if y.requires_grad:
        lib.where(lib.isfinite(y), y, 0).sum().backward()
    grad = None if x.grad is None else lib.nan_to_num(x.grad).numpy()
    return y.detach().numpy(), grad


@pytest.mark.parametrize("kept", [KEPT, ROW], ids=["whole", "a row"])
@pytest.mark.parametrize("name", ALONG)
def test_values_and_gradients(name: str, kept: Any) -> None:
    """Results are torch's, of lines of which nothing is kept too."""
    mine, theirs = _found(dt, name, kept), _found(torch, name, kept)
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-5, atol=1e-6)
    assert mine[0].dtype == theirs[0].dtype
    if theirs[1] is not None:
        np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-4, atol=1e-5)


def test_a_mask_that_does_not_fit() -> None:
    """A mask has to broadcast to the input."""
    for lib in (dt, torch):
        with pytest.raises(RuntimeError):
            lib.masked.sum(lib.ones(2, 3), mask=lib.ones(2, dtype=lib.bool))
