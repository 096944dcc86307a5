"""Poolings to a size of the result, over windows that divide each axis evenly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, REAL, Array, int32
from dovetail.engine.adjoints import adjoint_of
from dovetail.engine.attributes import Ints
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops import sums
from dovetail.ops.bounds import minimum
from dovetail.ops.compare import isnan
from dovetail.ops.create import full
from dovetail.ops.extremes import amax, argmax
from dovetail.ops.index import gather
from dovetail.ops.index_slices import index_select
from dovetail.ops.primitive import cast, clone, idiv, iota, where
from dovetail.ops.view import contiguous, expand, permute, reshape
from dovetail.ops.windows import first_of_largest

Sizes = Sequence[int]


def spans(size: int, out: int) -> list[tuple[int, int]]:
    """Start and stop of each of the `out` windows that cover an axis."""
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def adaptive_shape(x: Sizes, *, output_size: Sizes) -> Sizes:
    """The shape of a pooling to `output_size`."""
    name, n = "adaptive pooling", len(output_size)
    if len(x) != n + 2 or any(s < 0 for s in output_size):
        raise ShapeError(
            name, "input", was=f"of shape {x} for an output of {output_size}",
            needed="(batch, channels, *spatial) and a size for each spatial axis",
        )  # fmt: skip
    if 0 in x[1:]:
        raise ShapeError(name, "input", was=x, needed="no empty dim but the batch")
    return (*x[:2], *output_size)


@op(averages=True, shape=adaptive_shape, accepts=FLOAT)
def adaptive_avg_pool(input: Tensor, output_size: Ints) -> Tensor:
    """Means over windows that divide each axis as evenly as whole numbers can."""
    size = tuple(input._a.shape[2:])
    x = input
    for axis, out in enumerate(output_size, 2):
        x = _axis_means(x, axis, out)
    return clone(x) if tuple(output_size) == size else contiguous(x)


def _axis_means(x: Tensor, axis: int, out: int) -> Tensor:
    shape = tuple(x._a.shape)
    size = shape[axis]
    if out == size:
        return x
    if out and size % out == 0:
        split = reshape(x, (*shape[:axis], out, size // out, *shape[axis + 1 :]))
        mean: Tensor = sums.sum(split, (axis + 1,)) / (size // out)
        return mean
    spans = _Spans(x, size, out)
    return _axis_sums(x, axis, spans) / spans.lengths(x, len(shape) - 1 - axis)


class _Spans:
    """Windows that cover an axis, as tensors.

    Attributes:
        start, stop: of each window, [out, 1].
        longest: how many places the longest has.
        even: whether all have as many.
        places: [out, longest], those behind the end of a window being its last one.
        within: [out, longest], whether a place is before the end.
    """

    def __init__(self, x: Tensor, size: int, out: int) -> None:
        lengths = {stop - start for start, stop in spans(size, out)}
        self.longest, self.even = max(lengths, default=0), len(lengths) < 2
        number = reshape(iota(out, x._kind.with_dtype(int32)), (out, 1))
        self.start: Tensor = idiv(number * size, out)
        self.stop: Tensor = idiv((number + 1) * size + (out - 1), out)
        at = self.start + iota(self.longest, x._kind.with_dtype(int32))
        self.within: Tensor = at < self.stop
        self.places: Tensor = at if self.even else minimum(at, self.stop - 1)

    def lengths(self, x: Tensor, behind: int) -> Tensor:
        """How many places each window has, as `x` holds numbers, before more dims."""
        shape = (self.start._a.shape[0], *(1,) * behind)
        return reshape(cast(self.stop - self.start, x.dtype), shape)


def _gathered(x: Tensor, axis: int, spans: _Spans) -> Tensor:
    """`x` with an axis of windows and one of the places in each instead of an axis."""
    shape, out = tuple(x._a.shape), spans.places._a.shape[0]
    found = index_select(x, axis, reshape(spans.places, (out * spans.longest,)))
    return reshape(found, (*shape[:axis], out, spans.longest, *shape[axis + 1 :]))


def _axis_sums(x: Tensor, axis: int, spans: _Spans) -> Tensor:
    parts = _gathered(x, axis, spans)
    if not spans.even:
        shape = tuple(spans.within._a.shape)
        behind = (1,) * (len(parts._a.shape) - axis - len(shape))
        parts = where(reshape(spans.within, (*shape, *behind)), parts, 0)
    total: Tensor = sums.sum(parts, (axis + 1,))
    return total


@adjoint_of(adaptive_avg_pool, "input", averages=True, largest=1 << 12,
            shape=lambda dy, *, size, **_: (*dy[:2], *size))  # fmt: skip
def adaptive_avg_pool_backward(dy: Tensor, size: Ints) -> Tensor:
    """`dy`, divided by the size of its window, added to all of the window."""
    same = tuple(dy._a.shape[2:]) == tuple(size)
    for axis, whole in enumerate(size, 2):
        dy = _axis_shares(dy, axis, whole)
    return clone(dy) if same else contiguous(dy)


def _axis_shares(dy: Tensor, axis: int, size: int) -> Tensor:
    shape = tuple(dy._a.shape)
    out = shape[axis]
    if out == size:
        return dy
    if out and size % out == 0:
        share = reshape(dy / (size // out), (*shape[: axis + 1], 1, *shape[axis + 1 :]))
        wide = (*shape[: axis + 1], size // out, *shape[axis + 1 :])
        return reshape(expand(share, wide), (*shape[:axis], size, *shape[axis + 1 :]))
    share = dy / _Spans(dy, size, out).lengths(dy, len(shape) - 1 - axis)
    # The windows over a place are as many as the places in a window, turned round.
    return _axis_sums(share, axis, _Spans(dy, out, size))


@op(shape=adaptive_shape, accepts=REAL, result=int32, unrounded=True,
    nondifferentiable=True, largest=1 << 12)  # fmt: skip
def adaptive_max_positions(x: Tensor, output_size: Ints) -> Tensor:
    """Where, in the flattened spatial axes, each adaptive window has its maximum.

    The first among equals, the last among NaNs.
    """
    size = tuple(x._a.shape[2:])
    if 0 in output_size:
        return full((*x._a.shape[:2], *output_size), 0, x._kind.with_dtype(int32))
    axes = [_Spans(x, s, out) for s, out in zip(size, output_size, strict=True)]
    best = _largest(_windows(x, axes))
    flat: Any = 0
    for i, (axis, s) in enumerate(zip(axes, size, strict=True)):
        behind = math.prod(a.longest for a in axes[i + 1 :])
        step = best if behind == 1 else idiv(best, behind)
        step = step - idiv(step, axis.longest) * axis.longest
        ones = (1,) * (len(size) - 1 - i)
        start, last = (
            reshape(t, (t._a.shape[0], *ones)) for t in (axis.start, axis.stop)
        )
        flat = flat * s + minimum(start + step, last - 1)
    return contiguous(flat)


def _windows(x: Tensor, axes: Sequence[_Spans]) -> Tensor:
    """[batch, channels, *windows, places]: what is in each window."""
    for i, axis in enumerate(axes):
        x = _gathered(x, 2 + 2 * i, axis)
    shape, n = tuple(x._a.shape), len(axes)
    windows, places = range(2, 2 + 2 * n, 2), range(3, 2 + 2 * n, 2)
    turned = permute(x, (0, 1, *windows, *places))
    whole = math.prod(axis.longest for axis in axes)
    return reshape(turned, (*shape[:2], *(shape[d] for d in windows), whole))


def _largest(parts: Tensor) -> Tensor:
    """Where along the last dim the largest is: first of equals, last of NaNs."""
    found: Tensor = cast(argmax(parts, len(parts._a.shape) - 1), int32)
    if not parts._kind.dtype.is_floating_point:
        return found
    number = iota(parts._a.shape[-1], parts._kind.with_dtype(int32))
    last = amax(where(isnan(parts), number, -1), (len(parts._a.shape) - 1,))
    return where(last < 0, found, last)


def adaptive_max_pool(x: Tensor, output_size: Ints) -> tuple[Tensor, Tensor]:
    """The largest element of each adaptive window, and its flat position."""
    found = adaptive_max_positions(x, output_size)
    shape = tuple(found._a.shape)
    lead = shape[:2]
    source = reshape(x, (*lead, math.prod(x._a.shape[2:])))
    index = reshape(found, (*lead, math.prod(shape[2:])))
    return reshape(gather(source, 2, index), shape), found


def _regions(size: Sizes, output_size: Sizes) -> Iterator[tuple[Any, Any]]:
    """The index of each window, and where it lies, by fractions of each axis."""
    for at in np.ndindex(*output_size):
        region = (
            slice(math.floor(i * s / o), math.ceil((i + 1) * s / o))
            for i, s, o in zip(at, size, output_size, strict=True)
        )
        yield (..., *at), (..., *region)


@adaptive_avg_pool.oracle
def _(x: Any, output_size: Any) -> Any:
    y = np.empty((*x.shape[:2], *output_size))
    for at, region in _regions(x.shape[2:], output_size):
        y[at] = x[region].mean(axis=tuple(range(2, x.ndim)))
    return y


@adaptive_avg_pool_backward.oracle
def _(dy: Any, size: Any) -> Any:
    dx = np.zeros((*dy.shape[:2], *size))
    for at, region in _regions(size, dy.shape[2:]):
        target = dx[region]
        share = dy[at] / math.prod(target.shape[2:])
        target += share.reshape(*dy.shape[:2], *(1 for _ in size))
    return dx


@adaptive_max_positions.oracle
def _(x: Any, output_size: Any) -> Any:
    numbers = np.arange(math.prod(x.shape[2:])).reshape(x.shape[2:])
    found = np.empty((*x.shape[:2], *output_size), np.int32)
    for at, region in _regions(x.shape[2:], output_size):
        patch = x[region].reshape(*x.shape[:2], -1)
        found[at] = numbers[region].reshape(-1)[first_of_largest(patch)]
    return found


# input, size of the result; None for an axis that keeps its size, which may be drawn
_CALLS: Any = (
    ((2, 3, 4, 6), (1, 1)), ((2, 2, 6, 4), (3, 2)), ((1, 2, 7, 5), (3, 4)),
    ((1, 2, 3, 4), (5, None)), ((2, 2, 7), (2,)), ((1, 1, 2, 3, 4), (1, 2, 3)),
    ((0, 2, 4, 4), (2, 2)),
)  # fmt: skip


def _pooled(x: Array, output_size: Any) -> Case:
    sizes = zip(output_size, x.shape[2:], strict=False)
    return case(x, tuple(own if out is None else out for out, own in sizes))


@adaptive_avg_pool.cases
def _(make: Any) -> Iterator[Any]:
    for x, output_size in _CALLS:
        yield _pooled(make(*x), output_size)


@adaptive_max_positions.cases
def _(make: Any) -> Iterator[Any]:
    for x, output_size in _CALLS[:-1]:
        yield _pooled(make.distinct(*x), output_size)
