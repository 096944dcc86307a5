"""Layers that add margins; `nn.functional.pad` has the mathematics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from . import functional as F
from .module import Module


class _PadNd(Module):
    """What the margins of any kind share.

    Args:
        padding: one number for all sides, or a pair for the last axis, then one for
            the axis before, and so on; negative numbers cut off.

    Shape:
        [n, c, *spatial] or [c, *spatial]
    """

    spatial_dims: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        sides = 2 * self.spatial_dims
        if isinstance(padding, Iterable):
            self.padding = tuple(padding)
        else:
            self.padding = (padding,) * sides
        if len(self.padding) != sides:
            raise ArgumentError(
                type(self).__name__, "padding", was=padding,
                needed=f"one number or {sides}, a pair for each axis",
            )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    """Margins of one value; `_PadNd` has the rest."""

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Margins of `value` around the last axis.

    Examples:
        >>> nn.ConstantPad1d((1, 2), 9.0)(torch.zeros(1, 2))
        tensor([[9., 0., 0., 9., 9.]])
    """

    spatial_dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Margins of `value` around the last two axes."""

    spatial_dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Margins of `value` around the last three axes."""

    spatial_dims = 3


class _ZeroPadNd(_ConstantPadNd):
    """Margins of zeros."""

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd):
    """Margins of zeros around the last axis."""

    spatial_dims = 1


class ZeroPad2d(_ZeroPadNd):
    """Margins of zeros around the last two axes."""

    spatial_dims = 2


class ZeroPad3d(_ZeroPadNd):
    """Margins of zeros around the last three axes."""

    spatial_dims = 3


class _ReflectionPadNd(_PadNd):
    """Margins that mirror the inside, without the edge itself."""

    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Margins of the last axis that mirror the inside.

    Examples:
        >>> nn.ReflectionPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    spatial_dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Margins of the last two axes that mirror the inside."""

    spatial_dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Margins of the last three axes that mirror the inside."""

    spatial_dims = 3


class _ReplicationPadNd(_PadNd):
    """Margins that repeat the edge."""

    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Margins of the last axis that repeat the edge."""

    spatial_dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Margins of the last two axes that repeat the edge."""

    spatial_dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Margins of the last three axes that repeat the edge."""

    spatial_dims = 3


class _CircularPadNd(_PadNd):
    """Margins from the other end of the axis."""

    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        n = self.spatial_dims
        if input.ndim not in (n + 1, n + 2):
            raise ArgumentError(
                type(self).__name__, "input",
                was=f"{input.ndim}-dimensional, {tuple(input.shape)}",
                needed=f"{n + 1} or {n + 2} dimensions",
            )  # fmt: skip
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Margins of the last axis from its other end."""

    spatial_dims = 1


class CircularPad2d(_CircularPadNd):
    """Margins of the last two axes from their other ends."""

    spatial_dims = 2


class CircularPad3d(_CircularPadNd):
    """Margins of the last three axes from their other ends."""

    spatial_dims = 3
