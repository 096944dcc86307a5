"""Dropout of elements and of whole channels."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.engine.inplace import inplace as written
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.frontend.random_mask import (
    alpha_dropped,
    dropped,
    feature_alpha_dropped,
    feature_dropped,
)
from dovetail.ops.view import squeeze, unsqueeze

Drop = Callable[[Tensor, float], Tensor]


def check_probability(op: str, p: float) -> None:
    """Raise unless `p` is in 0 … 1."""
    if not 0.0 <= p <= 1.0:
        raise ArgumentError(op, "p", was=p, needed="a probability from 0 to 1")


def _applied(
    op: str, drop: Drop, input: Tensor, p: float, training: bool, inplace: bool
) -> Tensor:
    """What is left of `input`, which is itself without training or with p = 0."""
    check_probability(op, p)
    if not training or p == 0.0:
        return input
    return written(op, drop, input, p) if inplace else drop(input, p)


@public("F.dropout")
def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each element with probability `p`, and scale the others by `1 / (1 - p)`.

    Hinton et al. 2012, arXiv:1207.0580; without `training` the input is returned.

    Args:
        input: [...] floats.
        inplace: write into `input`.

    Raises: ArgumentError for a `p` that is no probability.
    """
    return _applied("dropout", dropped, input, p, training, inplace)


@public("F.alpha_dropout")
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance after SELU (Klambauer et al. 2017)."""
    return _applied("alpha_dropout", alpha_dropped, input, p, training, inplace)


@public("F.feature_alpha_dropout")
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels of [n, channels, ...]."""
    op = "feature_alpha_dropout"
    return _applied(op, feature_alpha_dropped, input, p, training, inplace)


def _channel_dropout(
    op: str, dims: tuple[int, int], input: Tensor, p: float, training: bool,
    inplace: bool,
) -> Tensor:  # fmt: skip
    check_probability(op, p)
    if input.ndim not in dims:
        raise ShapeError(
            op, "input", was=f"{input.ndim}-dimensional, {tuple(input.shape)}",
            needed=f"{dims[0]} or {dims[1]} dimensions",
        )  # fmt: skip
    # As torch: dropout2d takes three dims for (N, C, L), the others for one image.
    if input.ndim == dims[1] or op == "dropout2d":
        return _applied(op, feature_dropped, input, p, training, inplace)
    return _applied(op, _dropped_of_one, input, p, training, inplace)


def _dropped_of_one(input: Tensor, p: float) -> Tensor:
    """`feature_dropped` without a batch."""
    return squeeze(feature_dropped(unsqueeze(input, 0), p), (0,))


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
