"""Products with weights, and vectors made to have a norm of one."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.frontend.statistics import vector_norm
from dovetail.ops.einsum import einsum


@public("torch.bilinear F.bilinear", autocast="none")
def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """`input1 @ weight[k] @ input2` for each of the k outputs, plus `bias`.

    Args:
        input1: [..., n]; input2: [..., m]; weight: [out, n, m]; bias: [out].

    Returns: [..., out].
    """
    for name, x, d in (("input1", input1, 1), ("input2", input2, 2)):
        if weight.ndim != 3 or x.shape[-1:] != weight.shape[d : d + 1]:
            raise ShapeError(
                "bilinear", name, was=f"of shape {tuple(x.shape)}",
                needed=f"[..., {'nm'[d - 1]}] for a weight [out, n, m], "
                f"which is of shape {tuple(weight.shape)}",
            )  # fmt: skip
    if input1.shape[:-1] != input2.shape[:-1]:
        raise ShapeError(
            "bilinear", "input2", was=f"of shape {tuple(input2.shape)}",
            needed=f"the dims of input1 but the last: {tuple(input1.shape)}",
        )  # fmt: skip
    result = einsum([input1, weight, input2], "...i,kij,...j->...k")
    return result if bias is None else result + bias


@public("F.normalize")
def normalize(
    input: Tensor, p: float = 2.0, dim: int | Sequence[int] | None = 1,
    eps: float = 1e-12,
) -> Tensor:  # fmt: skip
    """`input` divided by its `p` norm along `dim`, at least by `eps`.

    Returns: the shape and dtype of `input`.

    Raises: DTypeError for integers.

    Examples:
        >>> import dovetail
        >>> dovetail.nn.functional.normalize(dovetail.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    return input / vector_norm(input, p, dim, True).clamp(min=eps)


@public("torch.conv_tbc F.conv_tbc")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of sequences [t, n, channels].

    Args:
        weight: [window, channels, out].
        bias: [out].
        pad: zeros added at both ends.
    """
    columns = input.permute(1, 2, 0)
    kernel = weight.permute(2, 1, 0)
    y: Tensor = NAMESPACES["F"]["conv1d"](columns, kernel, bias, padding=pad)
    return y.permute(2, 0, 1)


@public("torch.native_channel_shuffle F.native_channel_shuffle")
def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`channel_shuffle` by the name of torch's kernel."""
    y: Tensor = NAMESPACES["F"]["channel_shuffle"](input, groups)
    return y
