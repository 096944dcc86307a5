"""Products with weights, attention, and distances."""

# What the frontend offers is known by name at run time; these give it types.

from __future__ import annotations

from dovetail import frontend as ft
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.ops.statistics import vector_norm


@public("F.bilinear")
def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """`input1 @ weight[k] @ input2` for each of the k outputs, plus `bias`."""
    result = ft.einsum("...i,kij,...j->...k", input1, weight, input2)
    y: Tensor = result if bias is None else result + bias
    return y


@public("F.normalize")
def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12
) -> Tensor:
    """`input` divided by its `p` norm along `dim`, at least by `eps`."""
    y: Tensor = input / vector_norm(input, p, dim, True).clamp(min=eps)
    return y
