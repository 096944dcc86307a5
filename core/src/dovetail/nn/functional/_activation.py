"""Activations that are more than one op, or check more than one argument."""

from __future__ import annotations

from dovetail.engine.inplace import inplace as written
from dovetail.engine.integers import axis
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops import piecewise
from dovetail.ops.activation import sigmoid
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
