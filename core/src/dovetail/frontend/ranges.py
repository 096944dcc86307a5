"""torch's names for tensors that are counted: ranges, identities, triangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail import dtypes
from dovetail.dtypes import DType
from dovetail.engine.kinds import Kind
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.frontend.create import (
    DeviceLike,
    _finish,
    _float_kind,
    kind_for,
    sizes,
    tensor,
)  # fmt: skip
from dovetail.ops import create as ops
from dovetail.ops.diagonal import diagonal_put
from dovetail.ops.primitive import cast, float_pow


@public("torch.arange", out=True)
def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: DType | None = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """start, start + step, … below `end`; with one argument, 0 to it.

    Examples:
        >>> import dovetail as torch
        >>> torch.arange(4)
        tensor([0, 1, 2, 3])
        >>> torch.arange(1, 2, 0.25)
        tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    if end is None:
        start, end = 0, start
    start, end, step = (
        v.item() if isinstance(v, Tensor) else v for v in (start, end, step)
    )
    if (
        dtype is not None
        and not dtype.is_inexact
        and all(map(math.isfinite, (start, end)))
    ):
        start, end, step = int(start), int(end), int(step)
    if step == 0 or not (end - start) * step >= 0 or math.isinf(end - start):
        raise ArgumentError(
            "arange", "step", was=step, needed=f"one that leads from {start} to {end}"
        )
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    count = math.ceil((end - start) / step)
    return _finish(
        ops.arange(start, step, count, kind_for(device, dtype)), requires_grad
    )


def _ends(name: str, ends: tuple[Any, ...], steps: Any, kind: Kind) -> tuple[Any, ...]:
    """Start, end and number of evenly spaced numbers; integers for an integer dtype."""
    if isinstance(steps, bool) or not hasattr(steps, "__index__"):
        raise ArgumentTypeError(name, "steps", was=repr(steps), needed="an integer")
    if steps < 0:
        raise ArgumentError(name, "steps", was=steps, needed="at least 0")
    start, end = ends if kind.dtype.is_inexact else map(int, ends)
    return start, end, steps.__index__()


@public("torch.linspace", out=True)
def linspace(
    start: Any, end: Any, steps: int, *, dtype: DType | None = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    kind = _float_kind((start, end), dtype, device)
    made = ops.linspace(*_ends("linspace", (start, end), steps, kind), kind)
    return _finish(made, requires_grad)


@public("torch.logspace", out=True)
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: DType | None = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`base` to the power of `steps` evenly spaced numbers."""
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    kind = _float_kind((start, end), dtype, device)
    wide = kind
    if not kind.dtype.is_complex:
        has_double = dtypes.float64 in kind.backend.dtypes
        wide = kind.with_dtype(dtypes.float64 if has_double else dtypes.float32)
    powers = ops.linspace(*_ends("logspace", (start, end), steps, kind), wide)
    y = float_pow(ops.full((), base, wide), powers)
    return _finish(y if wide is kind else cast(y, kind.dtype), requires_grad)


@public("torch.eye", out=True)
def eye(
    n: int, m: int | None = None, *, dtype: DType | None = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A matrix with ones on the diagonal and zeros elsewhere."""
    rows, columns = sizes((n, n if m is None else m))
    kind = kind_for(device, dtype)
    ones_along = ops.full((min(rows, columns),), 1, kind)
    y = diagonal_put(ops.full((rows, columns), 0, kind), ones_along, 0, 0, 1)
    return _finish(y, requires_grad)


def _triangle(lower: bool, row: int, col: int, offset: int) -> np.ndarray[Any, Any]:
    shape = sizes((row, col))
    inside = np.tri(shape[0], shape[1], offset if lower else offset - 1, bool)
    return np.stack(np.nonzero(inside if lower else ~inside))


@public("torch.tril_indices")
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Rows and columns of the elements on and below a diagonal, [2, count]."""
    places = _triangle(True, row, col, offset)
    made = tensor(places, dtype=dtype or dtypes.int64, device=device)
    return _finish(made, requires_grad)


@public("torch.triu_indices")
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Rows and columns of the elements on and above a diagonal, [2, count]."""
    places = _triangle(False, row, col, offset)
    made = tensor(places, dtype=dtype or dtypes.int64, device=device)
    return _finish(made, requires_grad)
