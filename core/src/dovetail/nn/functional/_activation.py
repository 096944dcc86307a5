"""Activations that are more than one op, or check more than one argument."""

from __future__ import annotations

import math

from dovetail.dtypes import float32, float64
from dovetail.engine.attributes import Real
from dovetail.engine.elements import stored
from dovetail.engine.generator import Generator
from dovetail.engine.inplace import inplace as written
from dovetail.engine.integers import axis
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.frontend.random import floats, uniform_of
from dovetail.ops import piecewise
from dovetail.ops.activation import sigmoid
from dovetail.ops.primitive import where
from dovetail.ops.softmax import softmax
from dovetail.ops.transcendental import tanh


@public("F.hardtanh")
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """`input` clipped to `min_val` … `max_val`.

    Raises:
        ArgumentError: the bounds are in the wrong order, or negative for a dtype
            without negative numbers.
    """
    if min_val > max_val:
        raise ArgumentError(
            "hardtanh", "min_val", was=min_val, needed=f"at most max_val, {max_val}"
        )
    if input.dtype.category == 1 and not input.dtype.is_signed and min_val < 0:
        raise ArgumentError(
            "hardtanh", "min_val", was=min_val, needed=f"0 or more for {input.dtype}"
        )
    if inplace:
        return written("hardtanh_", piecewise.hardtanh, input, min_val, max_val)
    return piecewise.hardtanh(input, min_val, max_val)


@public("F.hardtanh_")
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` written into `input`, which is returned."""
    return hardtanh(input, min_val, max_val, inplace=True)


@public("F.tanhshrink")
def tanhshrink(input: Tensor) -> Tensor:
    """`input - tanh(input)`."""
    return input - tanh(input)


@public("F.glu")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim`, times the sigmoid of the second (arXiv:1612.08083).

    Raises:
        ShapeError: the axis has an odd length.
    """
    dim = axis("glu", "dim", dim, input.ndim)
    size = input.shape[dim] if input.ndim else 1
    if size % 2:
        raise ShapeError(
            "glu", "input", was=f"of length {size} along dim {dim}",
            needed="an even length",
        )  # fmt: skip
    values, gates = input.chunk(2, dim)
    return values * sigmoid(gates)


@public("torch.rrelu torch.rrelu_ F.rrelu_")
def _sloped(
    input: Tensor, lower: Real = 1 / 8, upper: Real = 1 / 3, training: bool = False,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """`nn.functional.rrelu`, of which the random numbers may be said."""
    if not lower <= upper:
        raise ArgumentError("rrelu", "lower", was=lower, needed=f"at most {upper}")
    wide = input.dtype if input.dtype is float64 else float32  # what is computed in
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise ArgumentError("rrelu", name, was=bound, needed="a finite number")
        stored("rrelu", wide, bound, name)
    if not training or lower == upper:
        return piecewise.leaky_relu(input, (lower + upper) / 2)
    shape, kind = tuple(input.shape), floats("rrelu", input._kind)
    slopes = uniform_of("rrelu", shape, kind, generator, lower, upper)
    return where(input <= 0, input * slopes, input)


@public("F.rrelu")
def rrelu(
    input: Tensor, lower: Real = 1 / 8, upper: Real = 1 / 3, training: bool = False,
    inplace: bool = False,
) -> Tensor:  # fmt: skip
    """`input`, times a slope below zero: in training a random one for each element.

    Xu et al. 2015, arXiv:1505.00853; outside of training the mean of the bounds.

    Args:
        lower, upper: the bounds of the slopes.
    """
    if inplace:
        return written("rrelu_", _sloped, input, lower, upper, training)
    return _sloped(input, lower, upper, training)


@public("F.gumbel_softmax")
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10,
    dim: int = -1,
) -> Tensor:  # fmt: skip
    """A sample of classes that has gradients (Jang et al. 2016, arXiv:1611.01144).

    Args:
        logits: [...] unnormalised log probabilities along `dim`.
        tau: the temperature.
        hard: one class is 1 and the others 0, with the gradients of the soft sample.
        eps: taken for torch's sake; changes nothing.
    """
    noise = -exponential_of(logits).log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    best = soft.argmax(dim, keepdim=True)
    ones = soft.detach() * 0
    picked = ones.scatter(dim, best, 1.0)
    return picked - soft.detach() + soft


def exponential_of(like: Tensor) -> Tensor:
    """Exponential numbers in the shape of `like`."""
    return like.detach().clone().exponential_()
