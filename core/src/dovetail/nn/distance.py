"""Layers of two vectors: how far they are, or how alike."""

from __future__ import annotations

from dovetail.engine.tensor import Tensor

from . import functional as F
from .module import Module


class CosineSimilarity(Module):
    """The cosine between vectors along `dim`, their norms taken as at least `eps`.

    Examples:
        >>> a, b = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]])
        >>> nn.CosineSimilarity()(a, b)
        tensor([0.7071])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The `p` norm of differences of vectors along the last axis.

    Args:
        eps: what is added to each difference.
        keepdim: whether that axis stays, with a length of one.
    """

    def __init__(
        self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
    ) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
