"""Poolings by powers and by random windows, and what undoes a maximum's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.frontend.spatial import Size, each_axis

from . import functional as F
from .layer import FunctionLayer, layer
from .module import Module


@layer(F.lp_pool1d)
class LPPool1d(FunctionLayer):
    """The `norm_type` norm of each window of [n, c, l]."""

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False


@layer(F.lp_pool2d)
class LPPool2d(FunctionLayer):
    """The `norm_type` norm of each window of [n, c, h, w].

    Examples:
        >>> nn.LPPool2d(2, 2)(torch.ones(1, 1, 4, 4))
        tensor([[[[2., 2.],
                  [2., 2.]]]])
    """

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False


@layer(F.lp_pool3d)
class LPPool3d(FunctionLayer):
    """The `norm_type` norm of each window of [n, c, d, h, w]."""

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False


class _MaxUnpoolNd(Module):
    """The elements of a max pooling back in their places, else zeros.

    Args:
        kernel_size, stride, padding: as the pooling has them.
    """

    spatial_dims: ClassVar[int]

    def __init__(
        self, kernel_size: Size, stride: Size | None = None, padding: Size = 0
    ) -> None:
        super().__init__()
        steps = kernel_size if stride is None else stride
        self.kernel_size = self._sizes("kernel_size", kernel_size)
        self.stride = self._sizes("stride", steps)
        self.padding = self._sizes("padding", padding)

    def _sizes(self, name: str, value: Any) -> tuple[int, ...]:
        return each_axis(type(self).__name__, name, value, self.spatial_dims)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        unpool = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)
        return unpool[self.spatial_dims - 1](
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}"
        )


class MaxUnpool1d(_MaxUnpoolNd):
    """What undoes `MaxPool1d`, all but the largest elements being zero."""

    spatial_dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """What undoes `MaxPool2d`, all but the largest elements being zero.

    Examples:
        >>> x = torch.arange(4.0).reshape(1, 1, 2, 2)
        >>> y, places = nn.MaxPool2d(2, return_indices=True)(x)
        >>> nn.MaxUnpool2d(2)(y, places)
        tensor([[[[0., 0.],
                  [0., 3.]]]])
    """

    spatial_dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """What undoes `MaxPool3d`, all but the largest elements being zero."""

    spatial_dims = 3


class _FractionalMaxPoolNd(Module):
    """The largest element of windows that start in random steps (arXiv:1412.6071).

    Args:
        kernel_size: lengths of the window.
        output_size: of the spatial axes of the result.
        output_ratio: that of its lengths to those of the input, instead.
        return_indices: whether the elements' positions are returned too.
    """

    spatial_dims: ClassVar[int]
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Size,
        output_size: Size | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        n, name = self.spatial_dims, type(self).__name__
        self.kernel_size = each_axis(name, "kernel_size", kernel_size, n)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        if (output_size is None) == (output_ratio is None):
            raise ArgumentError(
                name, "output_size",
                was="None, as output_ratio is" if output_size is None
                else "given with output_ratio", needed="one of the two",
            )  # fmt: skip
        self.output_size = (
            None
            if output_size is None
            else each_axis(name, "output_size", output_size, n)
        )
        self.output_ratio = None
        if output_ratio is not None:
            ratios = (
                tuple(output_ratio)
                if isinstance(output_ratio, Sequence)
                else (output_ratio,) * n
            )
            if not all(0 < ratio < 1 for ratio in ratios):
                raise ArgumentError(
                    name, "output_ratio", was=output_ratio, needed="between 0 and 1"
                )
            self.output_ratio = ratios

    def forward(self, input: Tensor) -> Any:
        two = self.spatial_dims == 2
        pool = F.fractional_max_pool2d if two else F.fractional_max_pool3d
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio,
            self.return_indices, _random_samples=self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Largest elements of random windows of images [n, c, h, w]."""

    spatial_dims = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Largest elements of random windows of volumes [n, c, d, h, w]."""

    spatial_dims = 3
