"""Batch norms of eval mode folded into the layer before them."""

from __future__ import annotations

import copy
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what `conv` and then `bn` do, both in eval mode."""
    _require_eval("fuse_conv_bn_eval", conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
        bn.bias, transpose,
    )  # fmt: skip
    return fused


def _require_eval(op: str, layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise ArgumentError(
            op, "modules", was="in training mode", needed="eval mode",
            remedy="call .eval() on both",
        )  # fmt: skip
    if bn.running_mean is None or bn.running_var is None:
        raise ArgumentError(
            op, "bn", was="without running statistics",
            needed="track_running_stats=True",
        )  # fmt: skip


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
    bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Weight and bias of `fuse_conv_bn_eval`."""
    axis = 1 if transpose else 0
    shape = [1] * conv_w.ndim
    shape[axis] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def _fused(
    weight: Tensor, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float,
    scale: Tensor | None, shift: Tensor | None, shape: list[int],
) -> tuple[Parameter, Parameter]:  # fmt: skip
    with no_grad():
        before = ft.zeros_like(mean) if bias is None else bias
        factor = (var + eps).rsqrt()
        factor = factor if scale is None else factor * scale
        after = (before - mean) * factor
        after = after if shift is None else after + shift
        whole = (weight * factor.reshape(shape)).to(weight.dtype)
        has_bias_gradient = weight.requires_grad if bias is None else bias.requires_grad
        return (
            Parameter(whole, weight.requires_grad),
            Parameter(after.to(before.dtype), has_bias_gradient),
        )


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does what `linear` and then `bn` do, both in eval mode."""
    _require_eval("fuse_linear_bn_eval", linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise ArgumentError(
            "fuse_linear_bn_eval", "bn", was=f"of {bn.num_features} features",
            needed=f"1 or {linear.out_features}, those of linear",
        )  # fmt: skip
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
        bn.bias,
    )  # fmt: skip
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor,
    bn_eps: float, bn_w: Tensor, bn_b: Tensor,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Weight and bias of `fuse_linear_bn_eval`."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])
