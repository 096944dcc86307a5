"""Poolings, and windows as columns: torch's signatures."""

from __future__ import annotations

from typing import Any, Final

from dovetail.dtypes import bool_, int32, uint8
from dovetail.engine.autocast import as_one
from dovetail.engine.integers import integer
from dovetail.engine.modes import no_grad
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError, ShapeError
from dovetail.frontend.spatial import LACKING, Size, over_axes
from dovetail.ops import columns, pool, pool_adaptive
from dovetail.ops.pool_mean import avg_pool
from dovetail.ops.primitive import cast
from dovetail.xp.windows import Windows

Places = tuple[Tensor, Tensor]


@over_axes("F.max_pool{n}d_with_indices")
@over_axes("torch.max_pool1d_with_indices", axes=(1,), stride=(),
           return_indices=LACKING)  # fmt: skip
def _with_places(
    input: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
    dilation: Size = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Places:  # fmt: skip
    """`max_pool{n}d` and the places, in the flattened spatial axes."""
    w = Windows(kernel_size, stride or kernel_size, padding, dilation, ceil_mode)
    y = pool.max_pool(input, *w)
    with no_grad():
        slots = pool.max_pool_slots(input, *w)
        found = pool.flat_positions(slots, tuple(input.shape[2:]), w)
        return y, cast(found, index_dtype(input._kind))


@over_axes("F.max_pool{n}d")
def _max_pool(
    input: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
    dilation: Size = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window over {n} axes.

    Args:
        input: [batch, channels, *spatial], or without the batch.
        kernel_size, padding, dilation: one number, or one for each axis.
        stride: the same; that of windows side by side unless given.
        ceil_mode: a last window may hang over the end.
        return_indices: the elements' places in the flattened spatial axes come too.

    >>> F.max_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    steps = (kernel_size, stride or kernel_size, padding, dilation, ceil_mode)
    if return_indices:
        return _with_places(input, *steps)
    return (_pool_of_three if input.ndim == 5 else pool.max_pool)(input, *steps)


# Autocast takes it for an op of its own, but not where the places come too.
_pool_of_three: Final = as_one(pool.max_pool, "float32")


@over_axes("torch.max_pool{n}d", autocast={3: "float32"})
def _plain_max_pool(
    input: Tensor, kernel_size: Size, stride: Size | None = (), padding: Size = 0,
    dilation: Size = 1, ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.max_pool{n}d`, without places."""
    steps = (kernel_size, stride or kernel_size, padding, dilation, ceil_mode)
    return pool.max_pool(input, *steps)


@over_axes("torch.avg_pool1d F.avg_pool1d", axes=(1,), stride=(),
           divisor_override=LACKING)  # fmt: skip
@over_axes("F.avg_pool{n}d", axes=(2, 3), autocast={3: "float32"})
def _avg_pool(
    input: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window over {n} axes.

    Args:
        input: [batch, channels, *spatial], or without the batch.
        kernel_size, padding: one number, or one for each axis.
        stride: the same; that of windows side by side unless given.
        ceil_mode: a last window may hang over the end.
        count_include_pad: padding counts as zeros.
        divisor_override: what sums are divided by, instead of their elements' number.

    >>> F.avg_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    steps = (kernel_size, stride or kernel_size, padding)
    return avg_pool(input, *steps, ceil_mode, count_include_pad, divisor_override)


def _target(name: str, x: Tensor, size: Any) -> tuple[int, ...]:
    """A size of the result; None keeps that of the input."""
    have = tuple(x.shape)[2:]
    asked = tuple(size) if isinstance(size, list | tuple) else (size,) * len(have)
    if len(asked) != len(have):
        raise ShapeError(
            name, "output_size", was=f"{asked} for an input {tuple(x.shape)}",
            needed=f"one number or {len(have)}",
        )  # fmt: skip
    cut = len(have) == 1 and any(a is None for a in asked)
    if size is None or cut or isinstance(size, Tensor):
        raise ArgumentTypeError(
            name, "output_size", was="a tensor" if isinstance(size, Tensor) else size,
            needed="a size for each axis",
        )  # fmt: skip
    return tuple(
        h if a is None else integer(name, "output_size", a, x.ndim)
        for a, h in zip(asked, have, strict=True)
    )


@over_axes("torch.adaptive_avg_pool1d", axes=(1,))
@over_axes("F.adaptive_avg_pool{n}d", autocast={3: "float32"})
def _adaptive_avg_pool(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows of {n} axes, to a size of the result.

    Args:
        input: [batch, channels, *spatial], or without the batch.
        output_size: one number, or one for each axis; None keeps that of the input.
    """
    size = _target(f"adaptive_avg_pool{input.ndim - 2}d", input, output_size)
    return pool_adaptive.adaptive_avg_pool(input, size)


@over_axes("torch.adaptive_max_pool1d", axes=(1,), return_indices=LACKING)
@over_axes("F.adaptive_max_pool{n}d_with_indices", autocast={3: "float32"})
def _adaptive_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Places:
    """`adaptive_max_pool{n}d` and the places, in the flattened spatial axes."""
    size = _target(f"adaptive_max_pool{input.ndim - 2}d", input, output_size)
    y, at = pool_adaptive.adaptive_max_pool(input, size)
    return y, cast(at, index_dtype(input._kind))


@over_axes("F.adaptive_max_pool{n}d", autocast={3: "float32"})
def _adaptive_max_pool(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """Maxima over windows of {n} axes; sizes as in `adaptive_avg_pool{n}d`.

    Args:
        return_indices: the elements' places in the flattened spatial axes come too.
    """
    found = _adaptive_with_indices(input, output_size)
    return found if return_indices else found[0]


@over_axes("F.unfold", axes=(2,))
def _unfold(
    input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0,
    stride: Size = 1,
) -> Tensor:  # fmt: skip
    """Each window of [batch, channels, height, width] as a column.

    Returns: [batch, channels · kernel, places].

    >>> F.unfold(torch.randn(1, 3, 8, 8), kernel_size=3).shape
    dovetail.Size([1, 27, 36])
    """
    steps = (kernel_size, dilation, padding, stride)
    if input.dtype is bool_:
        return cast(columns.im2col(cast(input, uint8), *steps), bool_)
    return columns.im2col(input, *steps)


@over_axes("F.fold", axes=(2,), dims=3)
def _fold(
    input: Tensor, output_size: Size, kernel_size: Size, dilation: Size = 1,
    padding: Size = 0, stride: Size = 1,
) -> Tensor:  # fmt: skip
    """Columns added up to an image: the adjoint of `unfold`."""
    steps = (kernel_size, dilation, padding, stride)
    if input.dtype is bool_:  # whether any of what overlaps is true
        return cast(columns.col2im(cast(input, int32), output_size, *steps), bool_)
    return columns.col2im(input, output_size, *steps)
