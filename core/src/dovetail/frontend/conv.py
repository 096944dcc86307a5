"""Convolutions: torch's signatures over `ops/conv.py`."""

from __future__ import annotations

from dovetail.dtypes import Sizes
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.frontend.spatial import Size, over_axes
from dovetail.ops import conv as ops
from dovetail.ops.pad import constant_pad
from dovetail.ops.primitive import add
from dovetail.ops.view import reshape


def _kernel_of(op: str, weight: Tensor, n: int) -> Sizes:
    if weight.ndim != n + 2:
        raise ShapeError(
            op, "weight", was=f"{weight.ndim}-dimensional, {tuple(weight.shape)}",
            needed=f"{n + 2} dimensions",
        )  # fmt: skip
    return tuple(weight.shape[2:])


@over_axes("torch.conv{n}d F.conv{n}d")
def _conv(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Size = 1,
    padding: Size | str = 0, dilation: Size = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Cross-correlation over {n} spatial axes.

    Args:
        input: [batch, channels, *spatial], or without the batch.
        weight: [out, channels / groups, *kernel].
        bias: [out].
        stride, dilation: one number, or one for each axis.
        padding: the same, or "valid" for none, or "same" for as much as keeps sizes.

    Raises:
        ShapeError: sizes that do not fit.
        DTypeError: weight or bias of another dtype.

    Examples:
        >>> import dovetail
        >>> x = dovetail.ones(1, 2, *[5] * {n})
        >>> weight = dovetail.ones(3, 2, *[3] * {n})
        >>> tuple(dovetail.nn.functional.conv{n}d(x, weight).shape[2:]) == (3,) * {n}
        True
    """
    op = f"conv{len(stride)}d"
    kernel = _kernel_of(op, weight, len(stride))
    if isinstance(padding, str):
        input, padding = _named_padding(op, padding, input, kernel, stride, dilation)
    return ops.convolution(input, weight, bias, stride, padding, dilation, groups)


def _named_padding(
    op: str, name: str, x: Tensor, kernel: Sizes, stride: Sizes, dilation: Sizes
) -> tuple[Tensor, Sizes]:
    """Input and symmetric padding that stand for "same" or "valid"."""
    if name == "valid":
        return x, (0,) * len(kernel)
    if name != "same":
        raise ArgumentError(op, "padding", was=repr(name), needed="'same' or 'valid'")
    if any(s != 1 for s in stride):
        raise ArgumentError(
            op, "padding", was=f"'same' with stride {stride}", needed="a stride of 1",
            remedy="give the padding as numbers",
        )  # fmt: skip
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(t % 2 for t in total):  # one more at the end, for an even kernel
        x = constant_pad(x, (0, 0, 0, 0, *(e for t in total for e in (0, t % 2))), 0)
    return x, tuple(t // 2 for t in total)


@over_axes(
    "torch.conv_transpose{n}d F.conv_transpose{n}d",
    autocast=dict.fromkeys((1, 2, 3), "lower"),
)
def _conv_transpose(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Size = 1,
    padding: Size = 0, output_padding: Size = 0, groups: int = 1, dilation: Size = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of `conv{n}d` in its input.

    Args:
        input: [batch, channels, *places], or without the batch.
        weight: [channels, out / groups, *kernel].
        bias: [out].
        output_padding: added to one side of the result's sizes, of which several lead
            to the same places.
    """
    op, pads, extra = f"conv_transpose{len(stride)}d", padding, output_padding
    kernel = _kernel_of(op, weight, len(stride))
    limits = map(max, stride, dilation)
    if not all(0 <= e < limit for e, limit in zip(extra, limits, strict=True)):
        raise ArgumentError(
            op, "output_padding", was=extra,
            needed=f"less than stride {stride} or dilation {dilation}",
        )  # fmt: skip
    axes = zip(input.shape[2:], stride, dilation, kernel, strict=True)
    whole = tuple((s - 1) * t + d * (k - 1) + 1 for s, t, d, k in axes)
    margins = [(-p, e - p) for p, e in zip(pads, extra, strict=True)]
    if all(e < t for e, t in zip(extra, stride, strict=True)):
        size = tuple(s + a + b for s, (a, b) in zip(whole, margins, strict=True))
        y = ops.convolution_transpose(
            input, weight, size, stride, pads, dilation, groups
        )
    else:
        none = (0,) * len(pads)
        y = ops.convolution_transpose(
            input, weight, whole, stride, none, dilation, groups
        )
        y = constant_pad(y, (0, 0, 0, 0, *(m for pair in margins for m in pair)), 0)
    return y if bias is None else add(y, reshape(bias, (-1, *(1 for _ in kernel))))


@public("torch.convolution")
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Size, padding: Size,
    dilation: Size, transposed: bool = False, output_padding: Size = 0, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Convolution, or its transpose, over as many axes as the weight has behind two."""
    n = weight.ndim - 2
    if n not in (1, 2, 3):
        raise ShapeError(
            "convolution", "weight", was=f"{weight.ndim}-dimensional",
            needed="3, 4 or 5 dimensions",
        )  # fmt: skip
    name = f"conv_transpose{n}d" if transposed else f"conv{n}d"
    more = (output_padding, groups, dilation) if transposed else (dilation, groups)
    y: Tensor = NAMESPACES["F"][name](input, weight, bias, stride, padding, *more)
    return y
