"""Embeddings: rows looked up by number."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ShapeError

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
        max_norm: rows that are looked up with a greater `norm_type` norm are scaled
            down to it.
        scale_grad_by_freq: whether gradients of rows are divided by how often they
            come.
        sparse: whether the gradient of the table is a sparse tensor, of the rows that
            were looked up.

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
        plain = self.max_norm is None and not self.scale_grad_by_freq
        if plain and not self.sparse:
            return F.embedding(input, self.weight, self.padding_idx)
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

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
        return text + _shown_options(self)


def _shown_options(table: Embedding | EmbeddingBag) -> str:
    """What `repr` shows of the options that are not as they are by default."""
    text = ""
    if table.max_norm is not None:
        text += f", max_norm={table.max_norm}"
    if table.norm_type != 2:
        text += f", norm_type={table.norm_type}"
    if table.scale_grad_by_freq:
        text += f", scale_grad_by_freq={table.scale_grad_by_freq}"
    if table.sparse:
        text += ", sparse=True"
    return text


class EmbeddingBag(Module):
    """Sums, means or maxima of the rows that bags of numbers name.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: length of a row.
        max_norm, norm_type, scale_grad_by_freq: as `Embedding` has them.
        mode: "sum", "mean" or "max".
        sparse: whether the gradient of the table is a sparse tensor, of the rows that
            were looked up.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: a row that starts as zeros and does not count.

    Shape:
        [bags, n] integers, or [n] with offsets [bags] -> [bags, embedding_dim]

    Examples:
        >>> m = nn.EmbeddingBag(10, 3, mode="sum")
        >>> m(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 3])).shape
        dovetail.Size([2, 3])
    """

    weight: Tensor

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        if padding_idx is not None:
            padding_idx = row_number("EmbeddingBag", padding_idx, num_embeddings)
        self.padding_idx = padding_idx
        shape = (num_embeddings, embedding_dim)
        if _weight is None:
            self.weight = Parameter(ft.empty(shape, device=device, dtype=dtype))
            self.reset_parameters()
        elif tuple(_weight.shape) != shape:
            raise ShapeError(
                "EmbeddingBag", "_weight", was=tuple(_weight.shape), needed=shape
            )
        else:
            self.weight = Parameter(_weight)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def reset_parameters(self) -> None:
        """Draw the table anew; the padding row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights,
            self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A layer around a given table [rows, width], by default not trained."""
        if embeddings.ndim != 2:
            raise ShapeError(
                "EmbeddingBag.from_pretrained", "embeddings",
                was=f"{embeddings.ndim}-dimensional", needed="2 dimensions",
            )  # fmt: skip
        rows, width = embeddings.shape
        made = cls(
            rows, width, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
            embeddings, include_last_offset, padding_idx,
        )  # fmt: skip
        made.weight.requires_grad = not freeze
        return made

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}{_shown_options(self)}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text
