"""torch's names for activations that are no op's own."""

from __future__ import annotations

from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops import piecewise
from dovetail.ops.view import reshape


@public("prelu F.prelu")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input`, times `weight` below zero: one weight, or one a channel (dim 1).

    Raises:
        ShapeError: another number of weights.
    """
    channels = tuple(weight._a.shape)
    if channels in ((), (1,)):
        return piecewise.prelu(input, weight if input.ndim else reshape(weight, ()))
    if len(channels) != 1 or input.ndim < 2 or input._a.shape[1] != channels[0]:
        raise ShapeError(
            "prelu", "weight", was=f"of shape {channels}",
            needed=f"(1,) or one a channel (dim 1) of {tuple(input._a.shape)}",
        )  # fmt: skip
    by_channel = (*channels, *(1,) * (input.ndim - 2))
    return piecewise.prelu(input, reshape(weight, by_channel))
