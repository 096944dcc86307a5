"""Dropout of elements and of whole channels."""

from __future__ import annotations

from dovetail import frontend as ft
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError


@public("F.dropout")
def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each element with probability `p`, and scale the others by `1 / (1 - p)`."""
    check_probability("dropout", p)
    if not training:
        return input
    if inplace:
        y: Tensor = input.mul_(ft.dropout(ft.ones_like(input), p, True))
        return y
    y = ft.dropout(input, p, True)
    return y


def check_probability(op: str, p: float) -> None:
    """Raise unless `p` is in 0 … 1."""
    if not 0.0 <= p <= 1.0:
        raise ArgumentError(op, "p", was=p, needed="a probability from 0 to 1")


def _channel_dropout(
    op: str,
    dims: tuple[int, int],
    input: Tensor,
    p: float,
    training: bool,
    inplace: bool,
) -> Tensor:
    check_probability(op, p)
    if input.ndim not in dims:
        raise ShapeError(
            op, "input", was=f"{input.ndim}-dimensional, {tuple(input.shape)}",
            needed=f"{dims[0]} or {dims[1]} dimensions",
        )  # fmt: skip
    if not training:
        return input
    # As torch: dropout2d takes three dims for (N, C, L), the others for one image.
    batched = input.ndim == dims[1] or op == "dropout2d"
    kept = tuple(input.shape)[: 2 if batched else 1]
    channels = kept + (1,) * (input.ndim - len(kept))
    ones = ft.ones(channels, dtype=input.dtype, device=input.device)
    mask = ft.dropout(ones, p, True)
    y: Tensor = input.mul_(mask) if inplace else input * mask
    return y


@public("F.dropout1d")
def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of `(N, C, L)` or `(C, L)`."""
    return _channel_dropout("dropout1d", (2, 3), input, p, training, inplace)


@public("F.dropout2d")
def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of `(N, C, H, W)` or `(N, C, L)`.

    After Tompson et al. (2015).
    """
    return _channel_dropout("dropout2d", (3, 4), input, p, training, inplace)


@public("F.dropout3d")
def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of `(N, C, D, H, W)`."""
    return _channel_dropout("dropout3d", (4, 5), input, p, training, inplace)
