"""torch's names for activations."""

# An op is callable with anything; its declaration says what it returns.

from __future__ import annotations

from typing import Any, Final

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.frontend.export import torch_name
from dovetail.ops import activation as a
from dovetail.ops.view import reshape

_F: Final[dict[str, Any]] = {"method": False, "out": False, "writes": True}
# Klambauer et al. 2017, equation 14
_SELU_ALPHA: Final = 1.6732632423543772
_SELU_SCALE: Final = 1.0507009873554805


torch_name("sigmoid", method=False)(a.sigmoid)
torch_name("sigmoid", writes=True, top=False)(a.sigmoid)
for _name in ("silu", "mish", "logsigmoid", "softsign", "hardsigmoid", "hardswish"):
    torch_name(_name, **_F)(getattr(a, _name))


@torch_name("logit", writes=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), with `input` kept at least `eps` from 0 and 1."""
    return a.logit(input, eps)


@torch_name("leaky_relu", **_F)
def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`input`, times `negative_slope` below zero."""
    return a.leaky_relu(input, negative_slope)


@torch_name("elu", **_F)
def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`input`, and alpha * expm1(input) below zero."""
    return a.elu(input, alpha)


@torch_name("selu", **_F)
def selu(input: Tensor) -> Tensor:
    """ELU scaled so that activations normalise themselves."""
    return a.elu(input, _SELU_ALPHA, _SELU_SCALE)


@torch_name("celu", **_F)
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`input`, and alpha * expm1(input / alpha) below zero."""
    return a.elu(input, alpha, 1.0, 1.0 / alpha)


@torch_name("prelu", out=False)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input`, times `weight` below zero: one weight, or one a channel (dim 1)."""
    channels = tuple(weight._a.shape)
    if channels in ((), (1,)):
        return a.prelu(input, weight if input.ndim else reshape(weight, ()))
    if len(channels) != 1 or input.ndim < 2 or input._a.shape[1] != channels[0]:
        raise ShapeError(
            "prelu", "weight", was=f"of shape {channels}",
            needed=f"(1,) or one a channel (dim 1) of {tuple(input._a.shape)}",
        )  # fmt: skip
    return a.prelu(input, reshape(weight, (*channels, *(1,) * (input.ndim - 2))))


@torch_name("gelu", **_F)
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`input` times the normal distribution function."""
    if approximate not in ("none", "tanh"):
        raise ArgumentError(
            "gelu", "approximate", was=repr(approximate), needed="'none' or 'tanh'"
        )
    return a.gelu(input, approximate)


@torch_name("softplus", **_F)
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta."""
    return a.softplus(input, beta, threshold)


@torch_name("hardtanh", **_F)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`input` between two bounds."""
    if min_val > max_val:
        raise ArgumentError(
            "hardtanh", "min_val", was=min_val, needed=f"at most max_val, {max_val}"
        )
    return a.hardtanh(input, min_val, max_val)


@torch_name("relu6", **_F)
def relu6(input: Tensor) -> Tensor:
    """`input` between 0 and 6."""
    return a.hardtanh(input, 0, 6)


@torch_name("threshold", **_F)
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """`input` above the threshold, else `value`."""
    return a.threshold(input, threshold, value)


@torch_name("softshrink", **_F)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`input` moved towards zero by `lambd`, and 0 within it."""
    return a.softshrink(input, lambd)


@torch_name("hardshrink", out=False)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`input`, and 0 where its magnitude is at most `lambd`."""
    return a.hardshrink(input, lambd)
