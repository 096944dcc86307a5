"""Transposed convolutions: the adjoints of convolutions in their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.frontend.spatial import Size

from . import functional as F
from .conv import _ConvNd


class _ConvTransposeNd(_ConvNd):
    """What the transposed convolutions of any number of axes share.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: lengths of the window.
        stride: steps of the window, over the output.
        padding: what is cut off on both sides of the output.
        output_padding: what is added to one side of its lengths.
        groups: parts of the channels that are convolved on their own.
        bias: whether anything is added to the result.
        dilation: distance between the elements under the window.

    Shape:
        [n, in_channels, *spatial] or [in_channels, *spatial], to out_channels and
        (spatial - 1) * stride - 2 * padding + dilation * (kernel_size - 1)
        + output_padding + 1

    Attributes:
        weight: [in_channels, out_channels / groups, *kernel_size], from
            U(-sqrt(k), +sqrt(k)) with k = groups / (out_channels * prod(kernel_size)).
        bias: [out_channels], the same distribution; None without.
    """

    _is_transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ArgumentError(
                type(self).__name__, "padding_mode", was=repr(padding_mode),
                needed="'zeros'",
            )  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
            bias, padding_mode, device, dtype,
        )  # fmt: skip
        self.output_padding = self._sizes("output_padding", output_padding)

    def _weight_shape(self) -> tuple[int, ...]:
        outputs = self.out_channels // self.groups
        return (self.in_channels, outputs, *self.kernel_size)

    def forward(
        self, input: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        """The transposed convolution.

        Args:
            output_size: of the spatial axes of the result, of which several lead to
                the same input.
        """
        n, padding = self.spatial_dims, _numbers(self.padding)
        convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
        return convolve(
            input, self.weight, self.bias, self.stride, padding,
            self._padding_for(input, output_size), self.groups, self.dilation,
        )  # fmt: skip

    def _padding_for(
        self, input: Tensor, output_size: Sequence[int] | None
    ) -> tuple[int, ...]:
        """The output padding that leads to a size."""
        if output_size is None:
            return self.output_padding
        n = self.spatial_dims
        lead = input.ndim - n
        sizes = tuple(output_size)
        sizes = sizes[lead:] if len(sizes) == lead + n else sizes
        if len(sizes) != n:
            raise ArgumentError(
                type(self).__name__, "output_size", was=tuple(output_size),
                needed=f"{n} or {lead + n} lengths",
            )  # fmt: skip
        padding = _numbers(self.padding)
        least = tuple(
            (input.shape[lead + i] - 1) * self.stride[i] - 2 * padding[i]
            + self.dilation[i] * (self.kernel_size[i] - 1) + 1
            for i in range(n)
        )  # fmt: skip
        more = tuple(size - low for size, low in zip(sizes, least, strict=True))
        if not all(0 <= m < s for m, s in zip(more, self.stride, strict=True)):
            most = tuple(a + s - 1 for a, s in zip(least, self.stride, strict=True))
            raise ArgumentError(
                type(self).__name__, "output_size", was=sizes,
                needed=f"{least} to {most} for an input {tuple(input.shape)}",
            )  # fmt: skip
        return more


def _numbers(padding: str | tuple[int, ...]) -> tuple[int, ...]:
    """A padding that is no name, as one of a transposed convolution never is."""
    assert not isinstance(padding, str)
    return padding


class ConvTranspose1d(_ConvTransposeNd):
    """The adjoint of `Conv1d`; `_ConvTransposeNd` has the arguments."""

    spatial_dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The adjoint of `Conv2d`; `_ConvTransposeNd` has the arguments.

    Examples:
        >>> layer = nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
        >>> layer(torch.ones(1, 4, 5, 5)).shape
        dovetail.Size([1, 2, 9, 9])
        >>> layer(torch.ones(1, 4, 5, 5), output_size=[10, 10]).shape
        dovetail.Size([1, 2, 10, 10])
    """

    spatial_dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The adjoint of `Conv3d`; `_ConvTransposeNd` has the arguments."""

    spatial_dims = 3
