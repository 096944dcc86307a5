"""Normalisation within a sample: by layer, by root mean square, by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from . import functional as F
from .affine import add_affine, add_weight, as_shape, reset_affine
from .module import Module


class LayerNorm(Module):
    """Normalises over the last axes (Ba et al. 2016, arXiv:1607.06450).

    Args:
        normalized_shape: lengths of those axes; an int is one axis.
        eps: what is added to the variance.
        elementwise_affine: whether weight and bias are learned.
        bias: whether an affine layer has a bias.

    Shape:
        [..., *normalized_shape], the same out

    Attributes:
        weight, bias: normalized_shape, ones and zeros at first.

    Examples:
        >>> nn.LayerNorm(4)(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).detach()
        tensor([[-1.3416, -0.4472,  0.4472,  1.3416]])
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        affine = elementwise_affine
        add_affine(self, self.normalized_shape, affine, affine and bias, device, dtype)

    def reset_parameters(self) -> None:
        """Weight one, bias zero."""
        reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps
        )

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root mean square of the last axes (arXiv:1910.07467).

    Args:
        normalized_shape: lengths of those axes; an int is one axis.
        eps: what is added to the mean square; None takes the dtype's epsilon.
        elementwise_affine: whether a weight is learned.

    Shape:
        [..., *normalized_shape], the same out

    Examples:
        >>> nn.RMSNorm(2, eps=0.0)(torch.tensor([[3.0, 4.0]])).square().mean().item()
        1.0
    """

    weight: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        add_weight(self, self.normalized_shape, elementwise_affine, device, dtype)

    def reset_parameters(self) -> None:
        """Weight one."""
        reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Normalises over groups of channels (Wu & He 2018, arXiv:1803.08494).

    Args:
        num_groups: how many groups; it divides num_channels.
        num_channels: channels.
        eps: what is added to the variance.
        affine: whether a weight and bias for each channel are learned.

    Shape:
        [n, num_channels, ...], the same out

    Examples:
        >>> nn.GroupNorm(2, 4)(torch.randn(3, 4, 5)).shape
        dovetail.Size([3, 4, 5])
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ArgumentError(
                "GroupNorm", "num_channels", was=num_channels,
                needed=f"a multiple of num_groups={num_groups}",
            )  # fmt: skip
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        add_affine(self, num_channels, affine, affine and bias, device, dtype)

    def reset_parameters(self) -> None:
        """Weight one, bias zero."""
        reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, "
            f"affine={self.affine}, bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Normalises over neighbouring channels (Krizhevsky et al. 2012, section 3.3).

    Args:
        size: how many channels.
        alpha, beta, k: what x is divided by is (k + alpha mean(x²))^beta.
    """

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """`LocalResponseNorm` by its old name, of images.

    From the third channel on torch's layer of this name counts one channel too many.
    """

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1
    ) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ArgumentError(
                "CrossMapLRN2d", "input", was=f"{input.ndim}-d", needed="4 dims"
            )
        return super().forward(input)
