"""Layers that make images larger; `nn.functional.interpolate` has the mathematics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.tensor import Tensor

from . import functional as F
from .module import Module


class Upsample(Module):
    """Spatial axes resampled to a size, or by a factor.

    Args:
        size: of the spatial axes in the result.
        scale_factor: what their lengths are multiplied by instead.
        mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear".
        align_corners: whether corners of both lie on each other, not edges.
        recompute_scale_factor: whether steps are those of the sizes.

    Examples:
        >>> nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 3.0]]]))
        tensor([[[1., 1., 3., 3.]]])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: Any = None
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(map(float, scale_factor))
        elif scale_factor:
            self.scale_factor = float(scale_factor)
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of images in mode "nearest"."""

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images in mode "bilinear", with corners aligned."""

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
