"""torch's names for tensors that are counted: ranges, identities, triangles."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from dovetail import dtypes
from dovetail.engine.attributes import Real, Scalar
from dovetail.engine.elements import stored
from dovetail.engine.kinds import Kind
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.frontend.create import float_kind
from dovetail.frontend.creation import Place, creates, sizes
from dovetail.ops import create as ops
from dovetail.ops.diagonal import diagonal_scatter
from dovetail.ops.primitive import cast, float_pow


def _number(value: Any) -> Any:
    """A number that may be a 0-d tensor, which is read, or one of NumPy's."""
    return value.item() if isinstance(value, Tensor | np.generic) else value


@creates("arange")
def arange(
    place: Place, start: Real, end: Real | None = None, step: Real = 1
) -> Tensor:
    """start, start + step, … below `end`; with one argument, 0 to it.

    Returns: [ceil((end - start) / step)] int64 of ints, else the default dtype.

    Raises: ArgumentError if `step` is 0 or leads away from `end`.

    Examples:
        >>> import dovetail as torch
        >>> torch.arange(4)
        tensor([0, 1, 2, 3])
        >>> torch.arange(1, 2, 0.25)
        tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    if end is None:
        start, end = 0, start
    start, end, step = map(_number, (start, end, step))
    whole = all(isinstance(v, int) for v in (start, end, step))
    kind = place.kind(dtypes.int64 if whole else None)
    if not kind.dtype.is_inexact and all(map(math.isfinite, (start, end))):
        start, end, step = int(start), int(end), int(step)
    if step == 0 or not (end - start) * step >= 0 or math.isinf(end - start):
        raise ArgumentError(
            "arange", "step", was=step, needed=f"one that leads from {start} to {end}"
        )
    return ops.arange(start, step, math.ceil((end - start) / step), kind)


@creates("range")
def range_(place: Place, start: Real, end: Real, step: Real = 1) -> Tensor:
    """start, start + step, … up to `end`, which is one of them where it is met.

    Deprecated in torch for `arange`, which leaves `end` out.

    Raises: ArgumentError if `step` is 0 or leads away from `end`.
    """
    warnings.warn(
        "range is deprecated, as its end is included where Python's is not; use "
        "arange(start, end + step, step)", stacklevel=5,
    )  # fmt: skip
    start, end, step = map(_number, (start, end, step))
    if step == 0 or not (end - start) * step >= 0 or math.isinf(end - start):
        raise ArgumentError(
            "range", "step", was=step, needed=f"one that leads from {start} to {end}"
        )
    count = math.floor((end - start) / step) + 1
    return ops.arange(start, step, count, place.kind())


def _ends(name: str, ends: tuple[Any, ...], steps: Any, kind: Kind) -> tuple[Any, ...]:
    """Start, end and number of evenly spaced numbers; integers for an integer dtype."""
    if isinstance(steps, bool) or not hasattr(steps, "__index__"):
        raise ArgumentTypeError(name, "steps", was=repr(steps), needed="an integer")
    if steps < 0:
        raise ArgumentError(name, "steps", was=steps, needed="at least 0")
    start, end = ends if kind.dtype.is_inexact else map(int, ends)
    return start, end, steps.__index__()


@creates("linspace")
def linspace(place: Place, start: Scalar, end: Scalar, steps: int) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included.

    Returns: [steps] of the default dtype, unless another is named.

    Raises: ArgumentError for negative `steps`; NumberOutOfRange for an end that the
        dtype does not hold.

    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    start, end = map(_number, (start, end))
    kind = float_kind(place, start, end)
    if kind.dtype.category and steps:
        start = stored("linspace", kind.dtype, start, "start")
        end = stored("linspace", kind.dtype, end, "end")
    return ops.linspace(*_ends("linspace", (start, end), steps, kind), kind)


@creates("logspace")
def logspace(
    place: Place, start: Scalar, end: Scalar, steps: int, base: float = 10.0
) -> Tensor:
    """`base` to the power of `steps` evenly spaced numbers."""
    start, end = map(_number, (start, end))
    kind = float_kind(place, start, end)
    wide = kind
    if not kind.dtype.is_complex:
        has_double = dtypes.float64 in kind.backend.dtypes
        wide = kind.with_dtype(dtypes.float64 if has_double else dtypes.float32)
    powers = ops.linspace(*_ends("logspace", (start, end), steps, kind), wide)
    y = float_pow(ops.full((), base, wide), powers)
    return y if wide is kind else cast(y, kind.dtype)


@creates("eye")
def eye(place: Place, n: int, m: int | None = None) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere.

    Returns: [n, m], or [n, n] without `m`.

    Raises: ArgumentError for a negative size.

    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    rows, columns = sizes((n, n if m is None else m))
    kind = place.kind()
    ones_along = ops.full((min(rows, columns),), 1, kind)
    return diagonal_scatter(ops.full((rows, columns), 0, kind), ones_along, 0, 0, 1)


def _triangle(place: Place, lower: bool, row: int, col: int, offset: int) -> Tensor:
    shape = sizes((row, col))
    inside = np.tri(shape[0], shape[1], offset if lower else offset - 1, bool)
    kind = place.kind(dtypes.int64)
    places = np.array((inside if lower else ~inside).nonzero()).astype(kind.dtype.numpy)
    return wrap(kind.backend.copy_in(places, kind.index), kind)


@creates("tril_indices", out=False)
def tril_indices(place: Place, row: int, col: int, offset: int = 0) -> Tensor:
    """Rows and columns of the elements on and below a diagonal, [2, count]."""
    return _triangle(place, True, row, col, offset)


@creates("triu_indices", out=False)
def triu_indices(place: Place, row: int, col: int, offset: int = 0) -> Tensor:
    """Rows and columns of the elements on and above a diagonal, [2, count]."""
    return _triangle(place, False, row, col, offset)
