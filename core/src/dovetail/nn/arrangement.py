"""Layers that only arrange elements anew: shuffles, and windows as columns."""

from __future__ import annotations

from typing import Any

from . import functional as F
from .layer import FunctionLayer, layer


@layer(F.pixel_shuffle)
class PixelShuffle(FunctionLayer):
    """[..., c r², h, w] as [..., c, h r, w r] (Shi et al. 2016, arXiv:1609.05158).

    Examples:
        >>> nn.PixelShuffle(2)(torch.ones(1, 8, 3, 3)).shape
        dovetail.Size([1, 2, 6, 6])
    """

    upscale_factor: int


@layer(F.pixel_unshuffle)
class PixelUnshuffle(FunctionLayer):
    """[..., c, h r, w r] as [..., c r², h, w], which `PixelShuffle` undoes."""

    downscale_factor: int


@layer(F.channel_shuffle)
class ChannelShuffle(FunctionLayer):
    """Channels of several groups, one of each in turn (arXiv:1707.01083)."""

    groups: int


@layer(F.unfold)
class Unfold(FunctionLayer):
    """Each window of [n, c, h, w] as a column: [n, c · kernel, places]."""

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


@layer(F.fold)
class Fold(FunctionLayer):
    """Columns added up to an image: the adjoint of `Unfold`."""

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
