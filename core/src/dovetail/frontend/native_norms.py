"""Normalisations that return their statistics too, as torch's native functions do."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.frontend.norm import batch_norm, group_norm, layer_norm
from dovetail.ops.view import reshape


def _statistics(x: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """Means, and one over the deviations, with those dims kept."""
    mean = x.mean(dims, True)
    variance = ((x - mean) ** 2).mean(dims, True)
    return mean, (variance + eps).rsqrt()


@public("torch.native_layer_norm")
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
    bias: Tensor | None, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`layer_norm`, the means, and one over the deviations."""
    y = layer_norm(input, normalized_shape, weight, bias, eps)
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    return (y, *_statistics(input.detach(), dims, eps))


@public("torch.native_group_norm")
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int,
    HxW: int,
    group: int, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`group_norm`, the means [N, group], and one over the deviations.

    Args:
        N, C, HxW: the sizes of `input`, the last one of all dims behind the channels.
    """
    y = group_norm(input, group, weight, bias, eps)
    rows = reshape(input, (N, group, C // group * HxW) if group else (N, 0, 0))
    mean, over = _statistics(rows, (2,), eps)
    return y, reshape(mean, (N, group)), reshape(over, (N, group))


@public("torch.native_batch_norm", out=True)
def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None,
    running_mean: Tensor | None, running_var: Tensor | None, training: bool,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`batch_norm`, and in training the means and one over the deviations."""
    y = batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if not training:
        return y, input.new_empty(0), input.new_empty(0)
    dims = (0, *range(2, input.ndim))
    mean, over = _statistics(input.detach(), dims, eps)
    return y, reshape(mean, (-1,)), reshape(over, (-1,))
