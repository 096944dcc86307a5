"""Pooling layers of one, two and three axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.frontend.spatial import Size, each_axis

from . import functional as F
from .layer import FunctionLayer, layer
from .module import Module


class _MaxPoolNd(Module):
    """The largest element of each window.

    Args:
        kernel_size: lengths of the window.
        stride: steps of the window; None takes the lengths.
        padding: minus infinity added on both sides.
        dilation: distance between the elements under the window.
        return_indices: whether the elements' positions are returned too.
        ceil_mode: whether a last window may go over the edge.

    Shape:
        [n, c, *spatial] or [c, *spatial]
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


def _largest(pool: Callable[..., Any], layer: Any, input: Tensor) -> Any:
    """What a layer's numbers say, which may be kept by any object."""
    return pool(
        input, layer.kernel_size, layer.stride, layer.padding, layer.dilation,
        ceil_mode=layer.ceil_mode, return_indices=layer.return_indices,
    )  # fmt: skip


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of [n, c, l]; `_MaxPoolNd` has the rest."""

    def forward(self, input: Tensor) -> Any:
        return _largest(F.max_pool1d, self, input)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of [n, c, h, w]; see `_MaxPoolNd`.

    Examples:
        >>> import dovetail
        >>> pool = dovetail.nn.MaxPool2d(3, stride=2)
        >>> pool(dovetail.randn(20, 16, 50, 32)).shape
        dovetail.Size([20, 16, 24, 15])
    """

    def forward(self, input: Tensor) -> Any:
        return _largest(F.max_pool2d, self, input)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of [n, c, d, h, w]; see `_MaxPoolNd`."""

    def forward(self, input: Tensor) -> Any:
        return _largest(F.max_pool3d, self, input)


class _AvgPoolNd(Module):
    """The mean of each window.

    Args:
        kernel_size: lengths of the window.
        stride: steps of the window; None takes the lengths.
        padding: zeros added on both sides.
        ceil_mode: whether a last window may go over the edge.
        count_include_pad: whether padded zeros count in the mean.
        divisor_override: what the sum is divided by instead of the count.

    Shape:
        [n, c, *spatial] or [c, *spatial]
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}"
        )


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of [n, c, l]; `_AvgPoolNd` has the arguments."""

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        lengths = each_axis("AvgPool1d", "kernel_size", kernel_size, 1)
        super().__init__(
            lengths,
            lengths if stride is None else each_axis("AvgPool1d", "stride", stride, 1),
            each_axis("AvgPool1d", "padding", padding, 1),
            ceil_mode,
            count_include_pad,
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding,
            self.ceil_mode, self.count_include_pad,
        )  # fmt: skip


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of [n, c, h, w]; `_AvgPoolNd` has the arguments.

    Examples:
        >>> nn.AvgPool2d(2)(torch.ones(1, 3, 8, 8)).shape
        dovetail.Size([1, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding,
            self.ceil_mode, self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of [n, c, d, h, w]; `_AvgPoolNd` has the arguments."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(
            input, self.kernel_size, self.stride, self.padding,
            self.ceil_mode, self.count_include_pad, self.divisor_override,
        )  # fmt: skip


@layer(F.adaptive_avg_pool1d)
class AdaptiveAvgPool1d(FunctionLayer):
    """Means over windows, [n, c, l] to [n, c, *output_size]; None keeps one."""

    output_size: Any


@layer(F.adaptive_avg_pool2d)
class AdaptiveAvgPool2d(FunctionLayer):
    """Means over windows, [n, c, h, w] to [n, c, *output_size]; None keeps one.

    Examples:
        >>> nn.AdaptiveAvgPool2d((1, 1))(torch.ones(2, 3, 7, 5)).shape
        dovetail.Size([2, 3, 1, 1])
    """

    output_size: Any


@layer(F.adaptive_avg_pool3d)
class AdaptiveAvgPool3d(FunctionLayer):
    """Means over windows, [n, c, d, h, w] to [n, c, *output_size]; None keeps one."""

    output_size: Any


class _AdaptiveMaxPoolNd(Module):
    """Adaptive pooling by the largest element.

    Args:
        output_size: lengths of the result; None keeps an axis as it is.
        return_indices: whether the elements' positions are returned too.
    """

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Largest elements, [n, c, l] to [n, c, output_size]."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Largest elements, [n, c, h, w] to [n, c, *output_size]."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Largest elements, [n, c, d, h, w] to [n, c, *output_size]."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
