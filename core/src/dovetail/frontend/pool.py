"""Poolings, and windows as columns: torch's signatures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dovetail.engine.attributes import integer
from dovetail.engine.modes import no_grad
from dovetail.engine.promotion import index_dtype
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.frontend.conv import each_axis, publish_named, with_batch
from dovetail.ops import pool as ops
from dovetail.ops.columns import col2im, im2col
from dovetail.ops.pool_adaptive import adaptive_avg_pool
from dovetail.ops.pool_adaptive import adaptive_max_pool as _adaptive_max
from dovetail.ops.pool_mean import avg_pool
from dovetail.ops.primitive import cast

Size = int | Iterable[int]


def _max_pool_with_indices(
    x: Tensor, kernel_size: tuple[int, ...], stride: tuple[int, ...],
    padding: tuple[int, ...], dilation: tuple[int, ...], ceil_mode: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The largest element of each window, and its place in the flattened input."""
    steps = (kernel_size, stride, padding, dilation)
    y = ops.max_pool(x, *steps, ceil_mode)
    with no_grad():
        slots = ops.max_pool_slots(x, *steps, ceil_mode)
        found = ops.flat_positions(slots, tuple(x.shape[2:]), *steps)
        return y, cast(found, index_dtype(x._kind))


def _stride(name: str, stride: Any, window: tuple[int, ...]) -> tuple[int, ...]:
    """The stride; that of windows side by side where none is given."""
    if stride is None or (isinstance(stride, tuple | list) and not stride):
        return window
    return each_axis(name, "stride", stride, len(window))


def _offer_max_pool(n: int) -> None:
    name = f"max_pool{n}d"

    def call(pool: Any, x: Tensor, *options: Any) -> Any:
        kernel, stride, padding, dilation, ceil_mode = options
        window = each_axis(name, "kernel_size", kernel, n)
        steps = (
            window,
            _stride(name, stride, window),
            each_axis(name, "padding", padding, n),
            each_axis(name, "dilation", dilation, n),
        )
        return with_batch(name, x, n, lambda x: pool(x, *steps, ceil_mode))

    def max_pool(
        input: Tensor, kernel_size: Size, stride: Size | None = None,
        padding: Size = 0, dilation: Size = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        pool = _max_pool_with_indices if return_indices else ops.max_pool
        return call(pool, input, kernel_size, stride, padding, dilation, ceil_mode)

    def with_indices(
        input: Tensor, kernel_size: Size, stride: Size | None = None,
        padding: Size = 0, dilation: Size = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        steps = (kernel_size, stride, padding, dilation, ceil_mode)
        return max_pool(input, *steps, return_indices=True)

    def plain(
        input: Tensor, kernel_size: Size, stride: Size = (), padding: Size = 0,
        dilation: Size = 1, ceil_mode: bool = False,
    ) -> Any:  # fmt: skip
        return max_pool(input, kernel_size, stride, padding, dilation, ceil_mode)

    max_pool.__doc__ = f"""The largest element of each window over {n} axes.

    Args:
        input: [batch, channels, *spatial], or without the batch.
        kernel_size, padding, dilation: one number, or one for each axis.
        stride: the same; that of windows side by side unless given.
        ceil_mode: a last window may hang over the end.
        return_indices: the elements' places in the flattened spatial axes come too.
    """
    with_indices.__doc__ = f"`{name}` and the places, in the flattened spatial axes."
    plain.__doc__ = f"`nn.functional.{name}`, without places."
    publish_named(name, f"F.{name}", max_pool)
    publish_named(f"{name}_with_indices", f"F.{name}_with_indices", with_indices)
    publish_named(name, f"torch.{name}", plain)


@public("torch.max_pool1d_with_indices")
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Size, stride: Size = (), padding: Size = 0,
    dilation: Size = 1, ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool1d` and the places."""
    pool: Any = NAMESPACES["F"]["max_pool1d_with_indices"]
    found: tuple[Tensor, Tensor] = pool(
        input, kernel_size, stride, padding, dilation, ceil_mode
    )
    return found


def _mean(
    name: str, input: Tensor, n: int, kernel_size: Size, stride: Any, padding: Size,
    *how: Any,
) -> Tensor:  # fmt: skip
    window = each_axis(name, "kernel_size", kernel_size, n)
    steps = (
        window, _stride(name, stride, window), each_axis(name, "padding", padding, n),
    )  # fmt: skip
    found: Tensor = with_batch(name, input, n, lambda x: avg_pool(x, *steps, *how))
    return found


@public("torch.avg_pool1d F.avg_pool1d")
def avg_pool1d(
    input: Tensor, kernel_size: Size, stride: Size = (), padding: Size = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of each window of [batch, channels, length]; see `avg_pool2d`."""
    steps = (kernel_size, stride, padding)
    return _mean("avg_pool1d", input, 1, *steps, ceil_mode, count_include_pad, None)


def _offer_avg_pool(n: int) -> None:
    name = f"avg_pool{n}d"

    def avg(
        input: Tensor, kernel_size: Size, stride: Size | None = None,
        padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:  # fmt: skip
        how = (ceil_mode, count_include_pad, divisor_override)
        return _mean(name, input, n, kernel_size, stride, padding, *how)

    avg.__doc__ = f"""The mean of each window over {n} axes.

    Args:
        input: [batch, channels, *spatial], or without the batch.
        kernel_size, padding: one number, or one for each axis.
        stride: the same; that of windows side by side unless given.
        ceil_mode: a last window may hang over the end.
        count_include_pad: padding counts as zeros.
        divisor_override: what sums are divided by, instead of their elements' number.
    """
    publish_named(name, f"F.{name}", avg)


def _target(name: str, x: Tensor, size: Any, n: int) -> tuple[int, ...]:
    """A size of the result; None keeps that of the input."""
    asked = tuple(size) if isinstance(size, list | tuple) else (size,) * n
    if len(asked) != n or x.ndim not in (n + 1, n + 2):
        raise ShapeError(
            name, "output_size", was=f"{asked} for an input {tuple(x.shape)}",
            needed=f"one number or {n}, and {n + 1} or {n + 2} dimensions",
        )  # fmt: skip
    have = tuple(x.shape)[-n:]
    return tuple(
        h if a is None else integer(name, "output_size", a, n)
        for a, h in zip(asked, have, strict=True)
    )


def _offer_adaptive(n: int) -> None:
    mean, largest = f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d"

    def avg(input: Tensor, output_size: Any) -> Tensor:
        size = _target(mean, input, output_size, n)
        found: Tensor = with_batch(mean, input, n, lambda x: adaptive_avg_pool(x, size))
        return found

    def with_indices(
        input: Tensor, output_size: Any, return_indices: bool = False
    ) -> Any:
        size = _target(largest, input, output_size, n)
        y, at = with_batch(largest, input, n, lambda x: _adaptive_max(x, size))
        return y, cast(at, index_dtype(input._kind))

    def max_(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        found = with_indices(input, output_size)
        return found if return_indices else found[0]

    avg.__doc__ = f"""Means over windows of {n} axes, to a size of the result.

    Args:
        input: [batch, channels, *spatial], or without the batch.
        output_size: one number, or one for each axis; None keeps that of the input.
    """
    max_.__doc__ = f"""Maxima over windows of {n} axes; sizes as in `{mean}`.

    Args:
        return_indices: the elements' places in the flattened spatial axes come too.
    """
    with_indices.__doc__ = f"`{largest}` and the places, in the flattened spatial axes."
    publish_named(mean, f"torch.{mean} F.{mean}" if n == 1 else f"F.{mean}", avg)
    publish_named(largest, f"F.{largest}", max_)
    with_name = f"{largest}_with_indices"
    publish_named(with_name, f"F.{with_name}", with_indices)


@public("torch.adaptive_max_pool1d")
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """Maxima over windows of one axis, and their places."""
    pool: Any = NAMESPACES["F"]["adaptive_max_pool1d_with_indices"]
    found: tuple[Tensor, Tensor] = pool(input, output_size)
    return found


for _n in (1, 2, 3):
    _offer_max_pool(_n)
    _offer_adaptive(_n)
for _n in (2, 3):
    _offer_avg_pool(_n)


@public("F.unfold")
def unfold(
    input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0,
    stride: Size = 1,
) -> Tensor:  # fmt: skip
    """Each window of [batch, channels, height, width] as a column.

    Returns: [batch, channels · kernel, places].
    """
    steps = _window("unfold", kernel_size, dilation, padding, stride)
    found: Tensor = with_batch("unfold", input, 2, lambda x: im2col(x, *steps))
    return found


@public("F.fold")
def fold(
    input: Tensor, output_size: Size, kernel_size: Size, dilation: Size = 1,
    padding: Size = 0, stride: Size = 1,
) -> Tensor:  # fmt: skip
    """Columns added up to an image: the adjoint of `unfold`."""
    steps = _window("fold", kernel_size, dilation, padding, stride)
    size = each_axis("fold", "output_size", output_size, 2)
    found: Tensor = with_batch("fold", input, 1, lambda x: col2im(x, size, *steps))
    return found


def _window(name: str, *values: Any) -> tuple[tuple[int, ...], ...]:
    names = ("kernel_size", "dilation", "padding", "stride")
    return tuple(
        each_axis(name, what, v, 2) for what, v in zip(names, values, strict=True)
    )
