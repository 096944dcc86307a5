"""Layers that zero a part of their input in training."""

from __future__ import annotations

from dovetail.engine.tensor import Tensor
from dovetail.frontend.random_mask import probability

from . import functional as F
from .module import Module


class _DropoutNd(Module):
    """What the dropouts share.

    Args:
        p: the probability of being zeroed.
        inplace: whether the input itself is changed.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        probability(type(self).__name__, p)
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes elements with probability `p`, scales the others by `1 / (1 - p)`.

    In eval mode the input is returned (Hinton et al. 2012, arXiv:1207.0580).

    Args:
        p: the probability of being zeroed.
        inplace: whether the input itself is changed.

    Examples:
        >>> m = nn.Dropout(p=0.5)
        >>> m(torch.ones(1000)).unique()
        tensor([0., 2.])
        >>> m.eval()(torch.ones(2))
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """`Dropout` of whole channels of [n, c, l] or [c, l]."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """`Dropout` of whole channels of [n, c, h, w] (Tompson et al. 2015)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """`Dropout` of whole channels of [n, c, d, h, w]."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance after SELU (arXiv:1706.02515)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
