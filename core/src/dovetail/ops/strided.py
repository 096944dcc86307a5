"""Views of a tensor's memory by strides, windows that overlap included."""

from __future__ import annotations

import numpy as np

from dovetail.dtypes import STORED, Array, Sizes
from dovetail.engine.attributes import Axis, Ints, Shape
from dovetail.engine.declare import op
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops.create import counted, full, zeros_of
from dovetail.ops.index_slices import index_add, index_select
from dovetail.ops.primitive import cast, where
from dovetail.ops.view import expand, permute, reshape

Geometry = tuple[Sizes, Sizes, int]


def _same_places(size: Sizes, a: Sizes, b: Sizes) -> bool:
    pairs = zip(size, a, b, strict=True)
    return 0 in size or all(n == 1 or s == t for n, s, t in pairs)


def _strided(
    have: Sizes, strides: Sizes | None, *, size: Sizes, stride: Sizes, offset: int,
    layout: Sizes,
) -> Geometry:  # fmt: skip
    if len(size) != len(stride) or any(s < 0 for s in (*stride, *size)):
        raise ArgumentError(
            "as_strided", "size and stride", was=f"{size} and {stride}",
            needed="one stride for each size, none negative",
        )  # fmt: skip
    if strides is not None and not _same_places(have, strides, layout):
        raise ShapeError("as_strided", "x", was=f"laid out by {strides}", needed=layout)
    return tuple(size), tuple(stride), offset


def _strided_oracle(
    x: Array, size: Sizes, stride: Sizes, offset: int, layout: Sizes
) -> Array:
    places = np.full(size, offset)
    for dim, (n, step) in enumerate(zip(size, stride, strict=True)):
        places += step * np.arange(n).reshape(-1, *(1,) * (len(size) - dim - 1))
    return np.array(x.reshape(-1)[places])


def _as_strided_gradient(
    ct: Tensor, input_shape: Sizes, size: Sizes, stride: Sizes, offset: int,
    layout: Sizes,
) -> Tensor:  # fmt: skip
    # Each element goes to the place it was read from; then we read where input lies.
    # A place that input has several times shares its gradient among them, as in torch.
    low = min(0, offset)
    length = 1 + max(_reach(input_shape, layout), offset + _reach(size, stride)) - low
    own = _places(ct, input_shape, layout, -low)
    source = _places(ct, size, stride, offset - low)
    memory = index_add(zeros_of(ct, (length,)), 0, source, reshape(ct, (-1,)))
    if _overlaps(input_shape, layout):
        ones = full(tuple(own._a.shape), 1, ct._kind)
        times = index_add(zeros_of(ct, (length,)), 0, own, ones)
        memory = memory / where(times == 0, 1, times)
    return reshape(index_select(memory, 0, own), input_shape)


@op(layout_matters=True, accepts=STORED, promote=None, view=True, unrounded=True,
    geometry=_strided, oracle=_strided_oracle,
    cases=lambda _: [
        ([3, 4], (2, 3), (4, 1), 1, (4, 1)), ([8], (3, 4), (2, 1), 0, (1,)),
        ([2, 3], (2, 2), (0, 1), 2, (3, 1)), ([4], (0, 2), (1, 1), 0, (1,)),
    ], grad=_as_strided_gradient)  # fmt: skip
def as_strided(
    input: Tensor, size: Shape, stride: Ints, offset: int, layout: Ints
) -> Tensor:
    """Elements of the memory of `input` by element strides, `offset` from its first.

    `layout` holds the strides of `input`, from which the gradient finds its places.
    """


def _places(like: Tensor, size: Sizes, stride: Sizes, start: int) -> Tensor:
    """Where the elements of a strided view lie, one-dimensional, in row-major order."""
    wanted = index_dtype(like._kind)
    total = full((), start, like._kind.with_dtype(wanted))
    for d, (n, step) in enumerate(zip(size, stride, strict=True)):
        steps = cast(counted(n, like), wanted) * step
        total = total + reshape(steps, (n, *(1,) * (len(size) - 1 - d)))
    return reshape(expand(total, tuple(size)), (-1,))


def _reach(size: Sizes, stride: Sizes) -> int:
    """The farthest place, counted from the first."""
    if 0 in size:
        return 0
    return sum((n - 1) * s for n, s in zip(size, stride, strict=True))


def _overlaps(size: Sizes, stride: Sizes) -> bool:
    """Whether two elements may share a place."""
    reach = 0
    for step, n in sorted(zip(stride, size, strict=True)):
        if n > 1 and step <= reach:
            return True
        reach += (n - 1) * step
    return False


def _unfolded(
    shape: Sizes, strides: Sizes | None, *, dimension: int, size: int, step: int
) -> Geometry:
    steps = strides or (0,) * len(shape)
    length = shape[dimension] if shape else 1
    if not 0 <= size <= length or step < 1:
        raise ArgumentError(
            "unfold", "size and step", was=f"{size} and {step}",
            needed=f"a size up to {length}, that of dim {dimension}, a step above 0",
        )  # fmt: skip
    if not shape:
        return (size,), (1,), 0
    count = (length - size) // step + 1
    return (
        (*shape[:dimension], count, *shape[dimension + 1 :], size),
        (
            *steps[:dimension],
            steps[dimension] * step,
            *steps[dimension + 1 :],
            steps[dimension],
        ),
        0,
    )


def _unfold_gradient(
    ct: Tensor, input_shape: Sizes, dimension: int, size: int, step: int
) -> Tensor:
    if not input_shape:
        return reshape(ct, ()) if size else zeros_of(ct, ())
    last = ct.ndim - 1
    order = (*range(dimension + 1), last, *range(dimension + 1, last))
    count = int(ct._a.shape[dimension])
    flat = (*input_shape[:dimension], count * size, *input_shape[dimension + 1 :])
    source = reshape(permute(ct, order), flat)
    where_from = _places(ct, (count, size), (step, 1), 0)
    return index_add(zeros_of(ct, input_shape), dimension, where_from, source)


def _windows(x: Array, dimension: int, size: int, step: int) -> Array:
    if not x.ndim:
        return x.reshape(1)[:size]
    dimension %= x.ndim
    starts = np.arange(0, x.shape[dimension] - size + 1, step)
    windows = x.take(starts[:, None] + np.arange(size), dimension)
    return np.moveaxis(windows, dimension + 1, -1)


@op(accepts=STORED, promote=None, view=True, unrounded=True, torch="Tensor.unfold",
    geometry=_unfolded, grad=_unfold_gradient, oracle=_windows, cases=lambda _: [
        ([7], 0, 3, 1), ([2, 7, 3], 1, 3, 2), ([2, 5], -1, 2, 3), ([], 0, 1, 1),
    ])  # fmt: skip
def unfold(input: Tensor, dimension: Axis, size: int, step: int) -> Tensor:
    """Windows of `size` every `step` along `dimension`, in a new last dim."""
