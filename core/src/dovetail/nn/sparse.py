"""Embeddings: rows looked up by number."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import NotSupported, ShapeError

from . import functional as F
from . import init
from .functional._embedding import row_number
from .module import Module


class Embedding(Module):
    """A table whose rows are looked up by number.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: length of a row.
        padding_idx: a row that starts as zeros and gets no gradient.
        max_norm, scale_grad_by_freq, sparse: not there yet; only the defaults.

    Shape:
        [...] integers -> [..., embedding_dim]

    Attributes:
        weight: [num_embeddings, embedding_dim], normal.

    Examples:
        >>> m = nn.Embedding(10, 3, padding_idx=0)
        >>> m(torch.tensor([[0, 4]])).shape
        dovetail.Size([1, 2, 3])
    """

    weight: Tensor

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        given = {"max_norm": max_norm, "sparse": sparse}
        for name, value in {**given, "scale_grad_by_freq": scale_grad_by_freq}.items():
            if value:
                raise NotSupported("Embedding", name, was=value, needed="its default")
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = (
            None
            if padding_idx is None
            else row_number("Embedding", padding_idx, num_embeddings)
        )
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        shape = (num_embeddings, embedding_dim)
        if _weight is None:
            table = ft.empty(shape, device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=not _freeze)
            self.reset_parameters()
        elif tuple(_weight.shape) != shape:
            raise ShapeError(
                "Embedding", "_weight", was=tuple(_weight.shape), needed=shape
            )
        else:
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Draw the table anew; the padding row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer around a given table [rows, width], by default not trained."""
        if embeddings.ndim != 2:
            raise ShapeError(
                "Embedding.from_pretrained", "embeddings",
                was=f"{embeddings.ndim}-dimensional", needed="2 dimensions",
            )  # fmt: skip
        rows, width = embeddings.shape
        return cls(
            rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
            _weight=embeddings, _freeze=freeze,
        )  # fmt: skip

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text
