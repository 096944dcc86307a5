"""Distances and likenesses of vectors."""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.dtypes import int64
from dovetail.engine.public import public
from dovetail.engine.signature import broadcast
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, DTypeError, ShapeError
from dovetail.frontend.statistics import vector_norm
from dovetail.ops.index_slices import index_select
from dovetail.ops.view import expand, unsqueeze


@public("torch.cosine_similarity F.cosine_similarity")
def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8
) -> Tensor:
    """The cosine between vectors along `dim`, their norms taken as at least `eps`.

    Args:
        x1, x2: floats whose shapes broadcast.

    Examples:
        >>> import dovetail
        >>> a, b = dovetail.tensor([[1.0, 0.0]]), dovetail.tensor([[1.0, 1.0]])
        >>> dovetail.nn.functional.cosine_similarity(a, b)
        tensor([0.7071])
    """
    for name, x in (("x1", x1), ("x2", x2)):
        if x.dtype.is_complex:
            raise DTypeError(
                "cosine_similarity", name, was=x.dtype.name, needed="real numbers"
            )
    if not eps >= 0:
        raise ArgumentError(
            "cosine_similarity", "eps", was=eps, needed="a number of 0 or more"
        )
    shape = broadcast(
        "cosine_similarity", (tuple(x1.shape), tuple(x2.shape)), ("x1", "x2")
    )
    x1, x2 = expand(x1, shape), expand(x2, shape)
    n1 = vector_norm(x1, 2, dim, True).clamp(min=eps)
    n2 = vector_norm(x2, 2, dim, True).clamp(min=eps)
    return ((x1 / n1) * (x2 / n2)).sum(dim)


@public("torch.pairwise_distance F.pairwise_distance")
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The `p` norm of x1 - x2 + eps over the last dim."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


# In which torch may use products of matrices.
_CDIST_MODES: Final = (
    "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)  # fmt: skip


@public("torch.cdist", autocast="float32")
def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:  # fmt: skip
    """The `p` norm distance of each row of `x1` to each row of `x2`.

    Args:
        x1: [..., n, width] floats.
        x2: [..., m, width]; the dims before broadcast.
        compute_mode: how torch computes it; of no effect here.

    Returns: [..., n, m].
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(
            "cdist", "x1 and x2",
            was=f"of shapes {tuple(x1.shape)} and {tuple(x2.shape)}",
            needed="at least two dims, the last of one size",
        )  # fmt: skip
    for name, x in (("x1", x1), ("x2", x2)):
        if not x.dtype.is_floating_point:
            raise DTypeError("cdist", name, was=x.dtype.name, needed="real floats")
    if compute_mode not in _CDIST_MODES:
        raise ArgumentError(
            "cdist", "compute_mode", was=repr(compute_mode),
            needed=f"one of {', '.join(_CDIST_MODES)}",
        )  # fmt: skip
    if p < 0:
        raise ArgumentError("cdist", "p", was=p, needed="a non-negative p value")
    return vector_norm(unsqueeze(x1, -2) - unsqueeze(x2, -3), p, -1, False)


@public("torch.pdist F.pdist")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The `p` norm distance of each pair of rows: of 0 and 1, 0 and 2, … 1 and 2, …

    Args:
        input: [n, width] floats.

    Returns: [n (n - 1) / 2].
    """
    if input.ndim != 2:
        raise ShapeError(
            "pdist", "input", was=f"{input.ndim}-d", needed="2-d: rows to compare"
        )
    if input.dtype.is_complex:
        raise DTypeError(
            "pdist", "input", was=input.dtype.name, needed="a real floating point dtype"
        )
    if not p >= 0:
        raise ArgumentError("pdist", "p", was=p, needed="a non-negative p value")
    first, second = np.triu_indices(input.shape[0], 1)
    kind = input._kind.with_dtype(int64)
    rows = [
        index_select(input, 0, wrap(kind.backend.copy_in(at, kind.index), kind))
        for at in (first, second)
    ]
    return vector_norm(rows[0] - rows[1], p, -1, False)
