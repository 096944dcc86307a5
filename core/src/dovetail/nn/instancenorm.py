"""Normalisation of each channel of each sample."""

from __future__ import annotations

import warnings
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from . import functional as F
from .batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    """Normalises each channel of each sample (Ulyanov et al. 2016, arXiv:1607.08022).

    Args:
        num_features: channels.
        eps: what is added to the variance.
        momentum: how far the running statistics move.
        affine: whether weight and bias are learned.
        track_running_stats: whether eval mode normalises by running statistics.
        bias: whether an affine layer has a bias.

    Shape:
        [n, num_features, *spatial] or [num_features, *spatial], the same out
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype,
            bias=bias,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.ndim == self.allowed_dims[-1]
        self._check_channels(input.shape[1 if batched else 0])
        x = input if batched else input.unsqueeze(0)
        y = F.instance_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return y if batched else y.squeeze(0)

    def _check_channels(self, channels: int) -> None:
        if channels == self.num_features:
            return
        if self.affine:
            raise ArgumentError(
                type(self).__name__, "input", was=f"of {channels} channels",
                needed=f"num_features={self.num_features}",
            )  # fmt: skip
        warnings.warn(
            f"{type(self).__name__}: an input of {channels} channels does not match "
            f"num_features={self.num_features}, which counts only with affine=True",
            stacklevel=4,
        )


class InstanceNorm1d(_InstanceNorm):
    """`_InstanceNorm` of [n, c, l] or [c, l]."""

    allowed_dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """`_InstanceNorm` of images [n, c, h, w] or [c, h, w].

    Examples:
        >>> y = nn.InstanceNorm2d(3)(torch.randn(2, 3, 8, 8))
        >>> y.mean((2, 3)).abs().max().item() < 1e-5
        True
    """

    allowed_dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """`_InstanceNorm` of volumes [n, c, d, h, w] or [c, d, h, w]."""

    allowed_dims = (4, 5)
