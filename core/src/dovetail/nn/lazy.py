"""Layers that learn the width of their input from the first one they see."""

from __future__ import annotations

from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, _NormBase
from .conv import Conv1d, Conv2d, Conv3d, _ConvNd
from .conv_transpose import (
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    _ConvTransposeNd,
)
from .instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .lazy_mixin import LazyModuleMixin
from .linear import Linear
from .parameter import UninitializedBuffer, UninitializedParameter


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` whose in_features is that of its first input.

    Examples:
        >>> layer = nn.LazyLinear(3)
        >>> layer(torch.ones(2, 5)).shape, layer
        (dovetail.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
    """

    cls_to_become = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they are there."""
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the width of the input."""
        if self.has_uninitialized_params():
            if not input.ndim:
                raise ArgumentError(
                    "LazyLinear", "input", was="0-d", needed="[..., in_features]"
                )
            self.in_features = input.shape[-1]
            materialize(self.weight, (self.out_features, self.in_features))
            materialize(self.bias, (self.out_features,))
            self.reset_parameters()


def materialize(param: Tensor | None, shape: tuple[int, ...]) -> None:
    """Give an uninitialised parameter a shape; None and others are left alone."""
    if isinstance(param, UninitializedParameter | UninitializedBuffer):
        param.materialize(shape)


class _LazyConvNd(LazyModuleMixin, _ConvNd):
    """A convolution whose in_channels are those of its first input."""

    def _wait(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        """Have weights that are not there yet."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they are there."""
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take the channels of the input."""
        if not self.has_uninitialized_params():
            return
        n = self.spatial_dims
        if input.ndim not in (n + 1, n + 2):
            raise ArgumentError(
                type(self).__name__, "input", was=f"{input.ndim}-dimensional",
                needed=f"{n + 1} or {n + 2} dimensions",
            )  # fmt: skip
        self.in_channels = input.shape[-n - 1]
        if self.in_channels % self.groups:
            raise ArgumentError(
                type(self).__name__, "input", was=f"of {self.in_channels} channels",
                needed=f"a multiple of groups={self.groups}",
            )  # fmt: skip
        materialize(self.weight, self._weight_shape())
        materialize(self.bias, (self.out_channels,))
        self.reset_parameters()


class _LazyPlainConvNd(_LazyConvNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode,
            device, dtype,
        )  # fmt: skip
        self._wait(out_channels, bias, device, dtype)


class LazyConv1d(_LazyPlainConvNd, Conv1d):
    """A `Conv1d` whose in_channels are those of its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlainConvNd, Conv2d):
    """A `Conv2d` whose in_channels are those of its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyPlainConvNd, Conv3d):
    """A `Conv3d` whose in_channels are those of its first input."""

    cls_to_become = Conv3d


class _LazyConvTransposeNd(_LazyConvNd, _ConvTransposeNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation,
            padding_mode, device, dtype,
        )  # fmt: skip
        self._wait(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvTransposeNd, ConvTranspose1d):
    """A `ConvTranspose1d` whose in_channels are those of its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTransposeNd, ConvTranspose2d):
    """A `ConvTranspose2d` whose in_channels are those of its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTransposeNd, ConvTranspose3d):
    """A `ConvTranspose3d` whose in_channels are those of its first input."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin, _NormBase):
    """A norm whose num_features are the channels of its first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        kind = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**kind)
            if bias:
                self.bias = UninitializedParameter(**kind)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**kind)
            self.running_var = UninitializedBuffer(**kind)
            self.num_batches_tracked = self._no_batches(device)

    def reset_parameters(self) -> None:
        """Weight one, bias zero, nothing tracked, once they are there."""
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the channels of the input."""
        if self.has_uninitialized_params():
            self._check_input_dim(input)
            self.num_features = input.shape[1]
            for each in (self.weight, self.bias, self.running_mean, self.running_var):
                materialize(each, (self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A `BatchNorm1d` whose num_features are the channels of its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A `BatchNorm2d` whose num_features are the channels of its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A `BatchNorm3d` whose num_features are the channels of its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An `InstanceNorm1d` whose num_features are the channels of its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An `InstanceNorm2d` whose num_features are the channels of its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An `InstanceNorm3d` whose num_features are the channels of its first input."""

    cls_to_become = InstanceNorm3d
