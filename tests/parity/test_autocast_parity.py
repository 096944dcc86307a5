"""Autocast casts what torch's does on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt

RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 8)).astype("f4")
IMAGE = RNG.normal(size=(2, 3, 8, 8)).astype("f4")
TAPS = RNG.normal(size=(2, 3, 3, 3)).astype("f4")
LABELS = np.array([1, 0, 7, 3])

Program = Callable[[Any, Any], Any]  # of a library and a dtype


def _x(lib: Any, dtype: Any, values: Any = X) -> Any:
    return lib.tensor(values).to(dtype)


PROGRAMS: dict[str, Program] = {
    "matmul": lambda lib, d: _x(lib, d) @ _x(lib, d).t(),
    "bmm": lambda lib, d: lib.bmm(_x(lib, d)[None], _x(lib, d).t()[None]),
    "linear": lambda lib, d: lib.nn.functional.linear(_x(lib, d), _x(lib, d)),
    "einsum": lambda lib, d: lib.einsum("ij,kj->ik", _x(lib, d), _x(lib, d)),
    "conv2d": lambda lib, d: lib.nn.functional.conv2d(
        _x(lib, d, IMAGE), _x(lib, d, TAPS)
    ),
    "conv_transpose2d": lambda lib, d: lib.nn.functional.conv_transpose2d(
        _x(lib, d, IMAGE), _x(lib, d, TAPS.transpose(1, 0, 2, 3).copy())
    ),
    "prelu": lambda lib, d: lib.nn.functional.prelu(_x(lib, d), _x(lib, d)[0, :1]),
    "softmax": lambda lib, d: _x(lib, d).softmax(1),
    "layer_norm": lambda lib, d: lib.nn.functional.layer_norm(_x(lib, d), (8,)),
    "gelu": lambda lib, d: lib.nn.functional.gelu(_x(lib, d)),
    "sum": lambda lib, d: _x(lib, d).sum(),
    "prod": lambda lib, d: _x(lib, d).prod(1),
    "add": lambda lib, d: _x(lib, d) + _x(lib, lib.float32),
    "cat": lambda lib, d: lib.cat((_x(lib, d), _x(lib, lib.float32))),
    "cat of one dtype": lambda lib, d: lib.cat((_x(lib, d), _x(lib, d))),
    "stack": lambda lib, d: lib.stack((_x(lib, d), _x(lib, d))),
    "mse_loss": lambda lib, d: lib.nn.functional.mse_loss(_x(lib, d), _x(lib, d) * 0.5),
    "cross_entropy": lambda lib, d: lib.nn.functional.cross_entropy(
        _x(lib, d), lib.tensor(LABELS)
    ),
    "nll_loss": lambda lib, d: lib.nn.functional.nll_loss(
        _x(lib, d), lib.tensor(LABELS)
    ),
    "kl_div": lambda lib, d: lib.nn.functional.kl_div(
        _x(lib, d), _x(lib, d).abs(), reduction="sum"
    ),
    "binary_cross_entropy_with_logits": lambda lib, d: (
        lib.nn.functional.binary_cross_entropy_with_logits(
            _x(lib, d), _x(lib, d).sigmoid()
        )
    ),
}


def _loss(name: str, *more: Any) -> Program:
    """A loss of two tensors, and of constants."""

    def program(lib: Any, d: Any) -> Any:
        rest = [lib.tensor(m) for m in more]
        return getattr(lib.nn.functional, name)(_x(lib, d), _x(lib, d) * 0.5, *rest)

    return program


# Functions of several ops that torch casts as one, or does not cast.
PROGRAMS |= {
    "l1_loss": _loss("l1_loss"),
    "huber_loss": _loss("huber_loss"),
    "poisson_nll_loss": _loss("poisson_nll_loss"),
    "soft_margin_loss": _loss("soft_margin_loss"),
    "hinge_embedding_loss": _loss("hinge_embedding_loss"),
    "cosine_embedding_loss": _loss("cosine_embedding_loss", np.ones(4, "f4")),
    "gaussian_nll_loss": lambda lib, d: lib.nn.functional.gaussian_nll_loss(
        _x(lib, d), _x(lib, d) * 0.5, _x(lib, d).abs() + 0.5
    ),
    "triplet_margin_loss": lambda lib, d: lib.nn.functional.triplet_margin_loss(
        _x(lib, d), _x(lib, d) * 0.5, _x(lib, d) + 1
    ),
    "multi_margin_loss": lambda lib, d: lib.nn.functional.multi_margin_loss(
        _x(lib, d), lib.tensor(LABELS)
    ),
    "cdist": lambda lib, d: lib.cdist(_x(lib, d), _x(lib, d) * 0.5),
    "quantile": lambda lib, d: lib.quantile(_x(lib, d), 0.3, 1),
    "reflected": lambda lib, d: lib.nn.functional.pad(_x(lib, d), (1, 1), "reflect"),
    "circular": lambda lib, d: lib.nn.functional.pad(_x(lib, d), (1, 1), "circular"),
    "avg_pool3d": lambda lib, d: lib.nn.functional.avg_pool3d(_x(lib, d, IMAGE), 2),
    "avg_pool2d": lambda lib, d: lib.nn.functional.avg_pool2d(_x(lib, d, IMAGE), 2),
    "dot": lambda lib, d: _x(lib, d)[0].dot(_x(lib, d)[1]),
    "mv": lambda lib, d: _x(lib, d).mv(_x(lib, d)[0]),
    "matrix @ vector": lambda lib, d: _x(lib, d) @ _x(lib, d)[0],
    "addmv": lambda lib, d: lib.addmv(_x(lib, d)[:, 0], _x(lib, d), _x(lib, d)[1]),
    "addmm": lambda lib, d: lib.addmm(
        _x(lib, d)[:, :4], _x(lib, d), _x(lib, d).t(), beta=0.5
    ),
    "baddbmm": lambda lib, d: lib.baddbmm(
        _x(lib, d)[None, :, :4], _x(lib, d)[None], _x(lib, d).t()[None]
    ),
    "addbmm": lambda lib, d: lib.addbmm(
        _x(lib, d)[:, :4], _x(lib, d)[None], _x(lib, d).t()[None]
    ),
    "addmm_": lambda lib, d: (
        _x(lib, d)[:, :4].clone().addmm_(_x(lib, d), _x(lib, d).t())
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_have_torchs_dtype_and_values(name: str, dtype: str) -> None:
    """Each class of op, on inputs of each precision.

    Where the CPU has no instructions for bfloat16 torch rounds between the terms of a
    sum (.054 in a transposed convolution): what it is off the exact result is allowed.
    """
    program = PROGRAMS[name]
    with torch.autocast("cpu", torch.bfloat16):
        want = program(torch, getattr(torch, dtype))
    with dt.autocast("cpu", dt.bfloat16):
        got = program(dt, getattr(dt, dtype))
    assert str(got.dtype).rpartition(".")[2] == str(want.dtype).rpartition(".")[2]
    limit = 0.05 if "bfloat16" in (dtype, str(want.dtype)[6:]) else 1e-5
    left, right = got.double().numpy(), want.double().numpy()
    exact = program(torch, torch.float64).double().numpy()
    own = np.abs(right - exact) if want.dtype == torch.bfloat16 else 0.0
    np.testing.assert_array_less(
        np.abs(left - right) - own, limit * (1 + np.abs(right))
    )


def _trained(lib: Any, cache: bool) -> list[np.ndarray[Any, Any]]:
    """The gradients of a small network whose forward pass ran under autocast."""
    w = lib.tensor(X[:, :4].copy(), requires_grad=True)
    v = lib.tensor(X[:2, :4].copy(), requires_grad=True)
    x = lib.tensor(X[:, 4:].copy())
    with lib.autocast("cpu", lib.bfloat16, cache_enabled=cache):
        h = lib.nn.functional.linear(x, w).relu()
        y = lib.nn.functional.linear(h, v)
        y = lib.nn.functional.linear(h, v) + y
        loss = lib.nn.functional.cross_entropy(y, lib.tensor([0, 1, 1, 0]))
    loss.backward()
    return [w.grad.float().numpy(), v.grad.float().numpy()]


@pytest.mark.parametrize("cache", [True, False])
def test_gradients_reach_the_parameters_in_their_own_dtype(cache: bool) -> None:
    """The gradients are float32, and near those of torch."""
    for got, want in zip(_trained(dt, cache), _trained(torch, cache), strict=True):
        assert got.dtype == want.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=0.05, atol=0.02)


def test_what_is_set_is_what_torch_has() -> None:
    """Names, defaults, nesting and what is refused are torch's."""
    states = []
    for lib in (dt, torch):
        seen = [lib.is_autocast_enabled("cpu"), str(lib.get_autocast_dtype("cpu"))]
        with lib.autocast("cpu", lib.float16):
            seen += [lib.is_autocast_enabled("cpu"), str(lib.get_autocast_dtype("cpu"))]
            with lib.autocast("cpu", enabled=False):
                seen += [lib.is_autocast_enabled("cpu")]
            seen += [lib.is_autocast_enabled("cpu"), lib.is_autocast_cache_enabled()]
        seen += [lib.is_autocast_enabled("cpu"), lib.amp.is_autocast_available("cpu")]
        states.append([str(s).rpartition(".")[2] for s in seen])
    assert states[0] == states[1]
