"""Poolings by powers, and what undoes a maximum's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dovetail.dtypes import int64
from dovetail.engine.public import NAMESPACES
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from dovetail.frontend.creation import sizes
from dovetail.frontend.spatial import Size, SizeOrEach, over_axes
from dovetail.ops.create import full
from dovetail.ops.index import scatter
from dovetail.ops.pool_mean import avg_pool
from dovetail.ops.primitive import cast
from dovetail.ops.view import reshape

# What autocast does, by the number of axes.
_WIDE: Final = dict.fromkeys((1, 2, 3), "float32")


@over_axes("F.lp_pool{n}d")
def _lp_pool(
    input: Tensor, norm_type: float, kernel_size: SizeOrEach,
    stride: Size | None = None, ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The `norm_type` norm of each window over {n} axes: (Σ xᵖ)^(1/p).

    As torch has it, x itself is raised to the power, so that odd norms count signs.
    """
    steps = (kernel_size, stride or kernel_size, (0,) * len(kernel_size))
    means = avg_pool(input**norm_type, *steps, ceil_mode, True, None)
    sums = means.sign() * means.abs().relu() * math.prod(kernel_size)
    norms: Tensor = sums ** (1 / norm_type)
    return norms


@over_axes("F.max_unpool{n}d", autocast=_WIDE)
def _max_unpool(
    input: Tensor, indices: Tensor, kernel_size: Size, stride: Size | None = None,
    padding: Size = 0, output_size: Any = None,
) -> Tensor:  # fmt: skip
    """The elements of a max pooling over {n} axes back in their places, else zeros.

    Args:
        input: [batch, channels, *spatial], or without the batch.
        indices: the elements' places, which the pooling returns.
        kernel_size, stride, padding: as the pooling had them.
        output_size: of the spatial axes of the result, if the pooling cut them.
    """
    name = f"max_unpool{len(kernel_size)}d"
    if indices.ndim == input.ndim - 1:  # the batch was added to the input alone
        indices = indices.unsqueeze(0)
    if indices.dtype is not int64:
        raise DTypeError(name, "indices", was=indices.dtype.name, needed="int64")
    if tuple(indices.shape) != tuple(input.shape):
        raise ShapeError(
            name, "indices", was=f"of shape {tuple(indices.shape)}",
            needed=f"{tuple(input.shape)}, the shape of input",
        )  # fmt: skip
    axes = zip(input.shape[2:], kernel_size, stride or kernel_size, padding,
               strict=True)  # fmt: skip
    default = tuple((n - 1) * s - 2 * p + k for n, k, s, p in axes)
    out = _unpooled_size(name, default, stride or kernel_size, output_size)
    n, channels = input.shape[:2]
    flat = (n, channels, math.prod(input.shape[2:]))
    empty = full((n, channels, math.prod(out)), 0, input._kind)
    try:
        put = scatter(empty, 2, reshape(indices, flat), reshape(input, flat))
    except IndexOutOfRange as error:
        raise ArgumentError(
            name, "indices", was="beyond the result's end somewhere",
            needed=f"places in spatial axes of {out}: found an invalid max index",
        ) from error  # fmt: skip
    return reshape(put, (n, channels, *out))


def _unpooled_size(
    name: str, default: tuple[int, ...], stride: Any, asked: Any
) -> tuple[int, ...]:
    if asked is None:
        return default
    sizes = tuple(map(int, asked))
    sizes = sizes[-len(default) :] if len(sizes) == len(default) + 2 else sizes
    if len(sizes) != len(default):
        raise ArgumentError(
            name, "output_size", was=tuple(asked),
            needed=f"{len(default)} or {len(default) + 2} lengths",
        )  # fmt: skip
    for size, best, step in zip(sizes, default, stride, strict=True):
        if not best - step < size < best + step:
            raise ArgumentError(
                name, "output_size", was=sizes,
                needed=f"less than the stride {tuple(stride)} away from {default}",
            )  # fmt: skip
    return sizes


@over_axes("F.fractional_max_pool{n}d_with_indices", axes=(2, 3), autocast=_WIDE)
def _fractional_with_places(
    input: Tensor, kernel_size: Size, output_size: Any = None,
    output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`fractional_max_pool{n}d` and the places, in the flattened spatial axes."""
    n = len(kernel_size)
    name, size = f"fractional_max_pool{n}d", tuple(input.shape[2:])
    out = _fractional_size(name, size, output_size, output_ratio)
    for have, k, o in zip(size, kernel_size, out, strict=True):
        if o < 1 or o + k - 1 > have:
            raise ArgumentError(
                name, "output_size", was=f"{out} with windows of {kernel_size}",
                needed=f"what fits into {size}",
            )  # fmt: skip
    batch, channels = input.shape[:2]
    samples = _random_samples
    if samples is None:
        rand = NAMESPACES["torch"]["rand"]
        samples = rand(batch, channels, n, dtype=input.dtype, device=input.device)
    elif batch == 1 and samples.ndim == 3:
        samples = samples[:1]  # torch looks at no others
    if tuple(samples.shape) != (batch, channels, n):
        raise ShapeError(
            name, "_random_samples", was=f"of shape {tuple(samples.shape)}",
            needed=f"{(batch, channels, n)}",
        )  # fmt: skip
    at = _fractional_places(size, kernel_size, out, samples)
    flat = reshape(input, (batch, channels, math.prod(size)))
    count, shape = math.prod(at.shape[2:]), (batch, channels, *out)
    windows = flat.detach().gather(2, reshape(at, (batch, channels, count)))
    windows = reshape(windows, tuple(at.shape))
    best = at.gather(3, windows.argmax(3, keepdim=True)).squeeze(3)
    return reshape(flat.gather(2, best), shape), reshape(best, shape)


def _fractional_size(
    name: str, size: tuple[int, ...], output_size: Any, ratio: Any
) -> tuple[int, ...]:
    if (output_size is None) == (ratio is None):
        raise ArgumentError(
            name, "output_size",
            was="None, as output_ratio is" if ratio is None else "given with a ratio",
            needed="one of output_size and output_ratio",
        )  # fmt: skip
    given = ratio if output_size is None else output_size
    values = given if isinstance(given, tuple | list) else (given,) * len(size)
    if len(values) != len(size):
        raise ArgumentError(
            name, "output_size", was=tuple(values), needed=f"one number or {len(size)}"
        )
    if output_size is not None:
        return sizes(tuple(values))
    if not all(0 < r < 1 for r in values):
        raise ArgumentError(
            name, "output_ratio", was=tuple(values), needed="between 0 and 1"
        )
    return tuple(int(n * r) for n, r in zip(size, values, strict=True))


def _fractional_places(
    size: tuple[int, ...], kernel: tuple[int, ...], out: tuple[int, ...],
    samples: Tensor,
) -> Tensor:  # fmt: skip
    """Flat places under each window: [n, channels, windows, elements of one].

    Windows start in steps of a fraction, cut to integers (Graham 2014,
    arXiv:1412.6071). As torch draws them, the last axis of images comes first.
    """
    axes = len(size)
    order = (1, 0) if axes == 2 else (0, 1, 2)
    lead = (samples.shape[0], samples.shape[1])
    index: Any = None
    for i, (have, k, o) in enumerate(zip(size, kernel, out, strict=True)):
        u = samples[..., order[i]].detach().unsqueeze(-1)
        start = _starts(u, have, k, o)  # [n, channels, o]
        inside = _line(start, k).expand(*lead, o, k)
        at = start.unsqueeze(-1) + inside
        shape = [1] * (2 * axes)
        shape[i], shape[axes + i] = o, k
        at = reshape(at, (*lead, *shape))
        index = at if index is None else index * have + at
    whole: Tensor = index.expand(*lead, *out, *kernel)
    return whole.reshape(*lead, math.prod(out), math.prod(kernel))


def _line(like: Tensor, n: int) -> Tensor:
    arange: Any = NAMESPACES["torch"]["arange"]
    line: Tensor = arange(n, device=like.device)
    return line


def _starts(u: Tensor, have: int, kernel: int, out: int) -> Tensor:
    """Where the windows of an axis start, the last one at its end."""
    last = have - kernel
    at = _line(u, out)
    step = last / (out - 1) if out > 1 else 0.0
    starts = ((cast(at, u.dtype) + u) * step).trunc() - (u * step).trunc()
    ended = cast(at, int64) == out - 1
    return cast(starts, int64).masked_fill(ended, last)


@over_axes("F.fractional_max_pool{n}d", axes=(2, 3), autocast=_WIDE)
def _fractional(
    input: Tensor, kernel_size: Size, output_size: Any = None,
    output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """The largest element of windows over {n} axes that start in random steps.

    Graham 2014, arXiv:1412.6071.

    Args:
        output_size: of the spatial axes of the result.
        output_ratio: that of its lengths to those of the input, instead.
        return_indices: the elements' places in the flattened spatial axes come too.
    """
    call = NAMESPACES["F"][f"fractional_max_pool{len(kernel_size)}d_with_indices"]
    found = call(input, kernel_size, output_size, output_ratio, True, _random_samples)
    return found if return_indices else found[0]
