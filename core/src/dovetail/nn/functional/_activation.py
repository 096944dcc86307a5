"""Activations under torch's names and signatures."""

# What the frontend offers is known by name at run time; these give it types.

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError


@public("F.relu")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The larger of `input` and zero."""
    y: Tensor = ft.relu_(input) if inplace else ft.relu(input)
    return y


@public("F.relu6")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`input` clipped to 0 … 6."""
    y: Tensor = ft.relu6_(input) if inplace else ft.relu6(input)
    return y


@public("F.silu")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * sigmoid(input)` (Hendrycks & Gimpel 2016; Elfwing et al. 2017)."""
    y: Tensor = ft.silu_(input) if inplace else ft.silu(input)
    return y


@public("F.mish")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * tanh(softplus(input))` (Misra 2019, arXiv:1908.08681)."""
    y: Tensor = ft.mish_(input) if inplace else ft.mish(input)
    return y


@public("F.selu")
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu`, scaled so that signals keep their variance (Klambauer et al. 2017)."""
    y: Tensor = ft.selu_(input) if inplace else ft.selu(input)
    return y


@public("F.hardsigmoid")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`relu6(input + 3) / 6`."""
    y: Tensor = ft.hardsigmoid_(input) if inplace else ft.hardsigmoid(input)
    return y


@public("F.hardswish")
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * hardsigmoid(input)` (Howard et al. 2019, arXiv:1905.02244)."""
    y: Tensor = ft.hardswish_(input) if inplace else ft.hardswish(input)
    return y


@public("F.elu")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input`, and `alpha * (exp(input) - 1)` below zero (Clevert et al. 2015)."""
    y: Tensor = ft.elu_(input, alpha) if inplace else ft.elu(input, alpha)
    return y


@public("F.celu")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`elu` with a continuous derivative (Barron 2017, arXiv:1704.07483)."""
    y: Tensor = ft.celu_(input, alpha) if inplace else ft.celu(input, alpha)
    return y


@public("F.leaky_relu")
def leaky_relu(
    input: Tensor, negative_slope: float = 0.01, inplace: bool = False
) -> Tensor:
    """`input`, times `negative_slope` below zero (Maas et al. 2013)."""
    call = ft.leaky_relu_ if inplace else ft.leaky_relu
    y: Tensor = call(input, negative_slope)
    return y


@public("F.hardtanh")
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """`input` clipped to `min_val` … `max_val`."""
    y: Tensor = (ft.hardtanh_ if inplace else ft.hardtanh)(input, min_val, max_val)
    return y


@public("F.threshold")
def threshold(
    input: Tensor, threshold: float, value: float, inplace: bool = False
) -> Tensor:
    """`input` where it is above `threshold`, else `value`."""
    y: Tensor = (ft.threshold_ if inplace else ft.threshold)(input, threshold, value)
    return y


@public("F.tanhshrink")
def tanhshrink(input: Tensor) -> Tensor:
    """`input - tanh(input)`."""
    y: Tensor = input - ft.tanh(input)
    return y


@public("F.glu")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim`, times the sigmoid of the second (arXiv:1612.08083).

    Raises: ShapeError if the axis has an odd length.
    """
    size = input.shape[dim]
    if size % 2:
        raise ShapeError(
            "glu", "input", was=f"of length {size} along dim {dim}",
            needed="an even length",
        )  # fmt: skip
    values, gates = input.chunk(2, dim)
    y: Tensor = values * ft.sigmoid(gates)
    return y


@public("F.softmax")
def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Exponentials along `dim`, scaled to sum to one.

    Args:
        dim: the axis; None takes torch's old default, by the number of axes.
        dtype: what to cast `input` to first.
    """
    y: Tensor = ft.softmax(input, dim=_axis(input, dim), dtype=dtype)
    return y


@public("F.softmin")
def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """`softmax` of the negated input."""
    y: Tensor = ft.softmax(-input, dim=_axis(input, dim), dtype=dtype)
    return y


@public("F.log_softmax")
def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """The logarithm of `softmax`, without its rounding."""
    y: Tensor = ft.log_softmax(input, dim=_axis(input, dim), dtype=dtype)
    return y


def _axis(input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    return 0 if input.ndim in (0, 1, 3) else 1
