"""Products with weights, and vectors made to have a norm of one."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.frontend.statistics import vector_norm
from dovetail.ops.einsum import einsum


@public("F.bilinear", autocast="none")
def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """`input1 @ weight[k] @ input2` for each of the k outputs, plus `bias`.

    Args:
        input1: [..., n]; input2: [..., m]; weight: [out, n, m]; bias: [out].

    Returns: [..., out].
    """
    result = einsum([input1, weight, input2], "...i,kij,...j->...k")
    return result if bias is None else result + bias


@public("F.normalize")
def normalize(
    input: Tensor, p: float = 2.0, dim: int | Sequence[int] | None = 1,
    eps: float = 1e-12,
) -> Tensor:  # fmt: skip
    """`input` divided by its `p` norm along `dim`, at least by `eps`.

    Examples:
        >>> import dovetail
        >>> dovetail.nn.functional.normalize(dovetail.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    return input / vector_norm(input, p, dim, True).clamp(min=eps)
