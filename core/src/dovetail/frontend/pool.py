"""torch's names for the family: pooling, and windows as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dovetail.engine.modes import no_grad
from dovetail.engine.promotion import index_dtype
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.frontend.conv import each_axis, with_batch
from dovetail.frontend.export import torch_name
from dovetail.ops import pool as ops
from dovetail.ops.columns import adaptive_max_pool as _adaptive_max
from dovetail.ops.columns import col2im, im2col
from dovetail.ops.pool_mean import adaptive_avg_pool, avg_pool
from dovetail.ops.primitive import cast

Size = int | Iterable[int]
_function: Any = {"method": False, "out": False}


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
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        options = (kernel_size, stride, padding, dilation, ceil_mode)
        found: tuple[Tensor, Tensor] = call(_max_pool_with_indices, input, *options)
        return found

    doc = f"The largest element of each window over {n} axes; the batch may be missing."
    _offer(name, max_pool, doc)
    _offer(f"{name}_with_indices", with_indices, f"{doc[:-1]}, and its place.")


def _offer(name: str, function: Callable[..., Any], doc: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    torch_name(name, **_function)(function)


def _offer_avg_pool(n: int) -> None:
    name = f"avg_pool{n}d"

    def avg(
        input: Tensor, kernel_size: Size, stride: Size | None = None,
        padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:  # fmt: skip
        window = each_axis(name, "kernel_size", kernel_size, n)
        steps = (
            window,
            _stride(name, stride, window),
            each_axis(name, "padding", padding, n),
        )
        how = (ceil_mode, count_include_pad, divisor_override)
        found: Tensor = with_batch(name, input, n, lambda x: avg_pool(x, *steps, *how))
        return found

    _offer(name, avg, f"The mean of each window over {n} axes.")


def _target(name: str, x: Tensor, size: Any, n: int) -> tuple[int, ...]:
    """A size of the result; None keeps that of the input."""
    asked = tuple(size) if isinstance(size, Iterable) else (size,) * n
    if len(asked) != n or x.ndim not in (n + 1, n + 2):
        raise ShapeError(
            name, "output_size", was=f"{asked} for an input {tuple(x.shape)}",
            needed=f"one number or {n}, and {n + 1} or {n + 2} dimensions",
        )  # fmt: skip
    have = tuple(x.shape)[-n:]
    return tuple(h if a is None else int(a) for a, h in zip(asked, have, strict=True))


def _offer_adaptive(n: int) -> None:
    mean, largest = f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d"

    def avg(input: Tensor, output_size: Any) -> Tensor:
        size = _target(mean, input, output_size, n)
        found: Tensor = with_batch(mean, input, n, lambda x: adaptive_avg_pool(x, size))
        return found

    def with_indices(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
        size = _target(largest, input, output_size, n)
        y, at = with_batch(largest, input, n, lambda x: _adaptive_max(x, size))
        return y, cast(at, index_dtype(input._kind))

    def max_(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        found = with_indices(input, output_size)
        return found if return_indices else found[0]

    _offer(mean, avg, f"Means over windows of {n} axes, to a size of the result.")
    doc = f"Maxima over windows of {n} axes, to a size of the result"
    _offer(largest, max_, f"{doc}.")
    _offer(f"{largest}_with_indices", with_indices, f"{doc}, and their places.")


for _n in (1, 2, 3):
    _offer_max_pool(_n)
    _offer_avg_pool(_n)
    _offer_adaptive(_n)


@public("F.unfold")
def unfold(
    input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0,
    stride: Size = 1,
) -> Tensor:  # fmt: skip
    """Each window of [batch, channels, height, width] as a column."""
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
