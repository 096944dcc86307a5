"""Layers that learn the width of their input from the first one they see."""

from __future__ import annotations

from typing import Any, ClassVar

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


class _Lazy(LazyModuleMixin):
    """A layer of which one number is that of its first input.

    Attributes:
        learned: the attribute that holds the number; 0 until it is known.
    """

    learned: ClassVar[str]
    weight: Any
    bias: Any

    def reset_parameters(self) -> None:
        """Give weights and buffers their first values, once they are there."""
        if not self.has_uninitialized_params() and getattr(self, self.learned):
            super().reset_parameters()  # type: ignore[misc]  # the layer's own

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take the number from the input, and the shapes that follow from it."""
        if not self.has_uninitialized_params():
            return
        setattr(self, self.learned, self._number(input))
        for name, shape in self._shapes().items():
            each = getattr(self, name)
            if isinstance(each, UninitializedParameter | UninitializedBuffer):
                each.materialize(shape)
        self.reset_parameters()

    def _number(self, input: Tensor) -> Any:
        """The number, of an input."""
        raise NotImplementedError

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of weights and buffers, by name, once the number is known."""
        raise NotImplementedError

    def _wait(self, bias: bool, device: Any, dtype: Any) -> None:
        """Have a weight, and perhaps a bias, that are not there yet."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)


class LazyLinear(_Lazy, Linear):
    """A `Linear` whose in_features is that of its first input.

    Examples:
        >>> layer = nn.LazyLinear(3)
        >>> layer(torch.ones(2, 5)).shape, layer
        (dovetail.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
    """

    cls_to_become = Linear
    learned = "in_features"

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.out_features = out_features
        self._wait(bias, device, dtype)

    def _number(self, input: Tensor) -> Any:
        if not input.ndim:
            raise ArgumentError(
                "LazyLinear", "input", was="0-d", needed="[..., in_features]"
            )
        return input.shape[-1]

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        n = self.out_features
        return {"weight": (n, self.in_features), "bias": (n,)}


class _LazyConvNd(_Lazy, _ConvNd):
    """A convolution whose in_channels are those of its first input."""

    learned = "in_channels"

    def _number(self, input: Tensor) -> Any:
        n = self.spatial_dims
        if input.ndim not in (n + 1, n + 2):
            raise ArgumentError(
                type(self).__name__, "input", was=f"{input.ndim}-dimensional",
                needed=f"{n + 1} or {n + 2} dimensions",
            )  # fmt: skip
        channels = input.shape[-n - 1]
        if channels % self.groups:
            raise ArgumentError(
                type(self).__name__, "input", was=f"of {channels} channels",
                needed=f"a multiple of groups={self.groups}",
            )  # fmt: skip
        return channels

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": self._weight_shape(), "bias": (self.out_channels,)}


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
        self.out_channels = out_channels
        self._check()
        self._wait(bias, device, dtype)


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
        self.out_channels = out_channels
        self._check()
        self._wait(bias, device, dtype)


class LazyConvTranspose1d(_LazyConvTransposeNd, ConvTranspose1d):
    """A `ConvTranspose1d` whose in_channels are those of its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTransposeNd, ConvTranspose2d):
    """A `ConvTranspose2d` whose in_channels are those of its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTransposeNd, ConvTranspose3d):
    """A `ConvTranspose3d` whose in_channels are those of its first input."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(_Lazy, _NormBase):
    """A norm whose num_features are the channels of its first input."""

    learned = "num_features"

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
        if affine:
            self._wait(bias, device, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = self._no_batches(device)

    def _number(self, input: Tensor) -> Any:
        self._check_input_dim(input)
        return input.shape[1]

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        shape = (self.num_features,)
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), shape)


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
