"""Convolution layers of one, two and three axes."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.frontend.spatial import Size, each_axis

from . import functional as F
from .linear import add_bias, reset_weight_and_bias
from .module import Module

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What the convolutions of any number of axes share.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: lengths of the window.
        stride: steps of the window.
        padding: what is added on both sides, or "same" or "valid".
        dilation: distance between the elements under the window.
        groups: parts of the channels that are convolved on their own.
        bias: whether anything is added to the result.
        padding_mode: what is added: "zeros", "reflect", "replicate" or "circular".

    Shape:
        [n, in_channels, *spatial] or [in_channels, *spatial], to out_channels and
        (spatial + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1

    Attributes:
        weight: [out_channels, in_channels / groups, *kernel_size], from
            U(-sqrt(k), +sqrt(k)) with k = groups / (in_channels * prod(kernel_size)).
        bias: [out_channels], the same distribution; None without.
    """

    spatial_dims: ClassVar[int]
    _is_transposed: ClassVar[bool] = False
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = self._sizes("kernel_size", kernel_size)
        self.stride = self._sizes("stride", stride)
        self.padding: str | tuple[int, ...]
        if isinstance(padding, str):
            self.padding = padding
        else:
            self.padding = self._sizes("padding", padding)
        self.dilation = self._sizes("dilation", dilation)
        self.transposed = type(self)._is_transposed
        self.output_padding = (0,) * self.spatial_dims
        self.groups = groups
        self.padding_mode = padding_mode
        self._check()
        self._reversed_padding_repeated_twice = self._padding_for_pad()
        shape = self._weight_shape()
        self.weight = Parameter(ft.empty(shape, device=device, dtype=dtype))
        add_bias(self, out_channels if bias else None, device, dtype)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        inputs, outputs = self.in_channels // self.groups, self.out_channels
        return (outputs, inputs, *self.kernel_size)

    def _sizes(self, name: str, value: Any) -> tuple[int, ...]:
        return each_axis(type(self).__name__, name, value, self.spatial_dims)

    def _check(self) -> None:
        op = type(self).__name__
        for name in ("in_channels", "out_channels", "groups"):
            number = getattr(self, name)
            if not hasattr(number, "__index__"):
                raise ArgumentTypeError(op, name, was=repr(number), needed="an integer")
        if self.groups <= 0:
            raise ArgumentError(op, "groups", was=self.groups, needed="1 or more")
        for name in ("in_channels", "out_channels"):
            channels = getattr(self, name)
            if channels % self.groups:
                raise ArgumentError(
                    op, name, was=channels, needed=f"a multiple of groups={self.groups}"
                )
        if self.padding_mode not in PADDING_MODES:
            raise ArgumentError(
                op, "padding_mode", was=repr(self.padding_mode),
                needed=f"one of {PADDING_MODES}",
            )  # fmt: skip
        if isinstance(self.padding, str) and self.padding not in ("same", "valid"):
            raise ArgumentError(
                op, "padding", was=repr(self.padding),
                needed="numbers, 'same' or 'valid'",
            )  # fmt: skip
        if self.padding == "same" and any(s != 1 for s in self.stride):
            raise ArgumentError(
                op, "padding", was=f"'same' with a stride of {self.stride}",
                needed="a stride of 1", remedy="give the padding as numbers",
            )  # fmt: skip

    def _padding_for_pad(self) -> list[int]:
        """The padding as `pad` takes it: last axis first, both sides."""
        if self.padding == "same":
            return _same_padding(self.kernel_size, self.dilation)
        if isinstance(self.padding, str):
            return [0] * (2 * self.spatial_dims)
        return [p for p in reversed(self.padding) for _ in range(2)]

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        reset_weight_and_bias(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(
        self, input: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            edges = self._reversed_padding_repeated_twice
            input = F.pad(input, edges, mode=self.padding_mode)
            padding = 0
        # Programs call this with objects of theirs, too, that have its attributes.
        convolve = (F.conv1d, F.conv2d, F.conv3d)[len(self.kernel_size) - 1]
        return convolve(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )

    def extra_repr(self) -> str:
        n = self.spatial_dims
        text = (
            f"{self.in_channels}, {self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}"
        )
        if self.padding != (0,) * n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class Conv1d(_ConvNd):
    """Cross-correlation along one axis; `_ConvNd` has the arguments.

    Examples:
        >>> nn.Conv1d(3, 8, kernel_size=3, padding=1)(torch.ones(2, 3, 10)).shape
        dovetail.Size([2, 8, 10])
    """

    spatial_dims = 1


class Conv2d(_ConvNd):
    """Cross-correlation of images; `_ConvNd` has the arguments.

    Examples:
        >>> import dovetail
        >>> layer = dovetail.nn.Conv2d(16, 33, 3, stride=2)
        >>> layer(dovetail.randn(20, 16, 50, 100)).shape
        dovetail.Size([20, 33, 24, 49])
    """

    spatial_dims = 2


class Conv3d(_ConvNd):
    """Cross-correlation of volumes; `_ConvNd` has the arguments."""

    spatial_dims = 3


def _same_padding(kernel: tuple[int, ...], dilation: tuple[int, ...]) -> list[int]:
    """What "same" pads on both sides of each axis, last axis first."""
    sides = []
    for k, d in zip(reversed(kernel), reversed(dilation), strict=True):
        total = d * (k - 1)
        sides += [total // 2, total - total // 2]
    return sides
