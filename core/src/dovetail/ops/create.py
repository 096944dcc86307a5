"""Tensors from nothing: filled, counted, or moved from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.device_api.host_copies import copied, copied_later
from dovetail.dtypes import ANY, HALF, STORED, Array, float32, float64, int32, int64
from dovetail.engine.attributes import Scalar, Shape
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.elements import stored
from dovetail.engine.kinds import Kind
from dovetail.engine.scopes import anywhere
from dovetail.engine.tensor import Tensor, wrap
from dovetail.ops.primitive import cast, iota, lt, where

# What is made of no tensor, but of a shape or a count, and a kind.
MADE: Any = {
    "shape": lambda *, shape, **_: shape, "result": lambda d, a: a["kind"].dtype,
    "nondifferentiable": True, "unrounded": True,
}  # fmt: skip
_COUNTED: Any = {**MADE, "shape": lambda *, count, **_: (count,)}


@op(**MADE, memory=True, oracle=lambda shape, value: np.full(shape, value),
    cases=lambda _: [((2, 3), 1), ((), 1), ((0, 2), 1.0)])  # fmt: skip
def full(shape: Shape, value: Scalar, kind: Kind) -> Tensor:
    """A tensor of `shape` with every element `value`."""
    backend = kind.backend
    native = backend.empty(tuple(shape), kind.dtype, kind.index)
    backend.fill(native, stored("full", kind.dtype, value))
    return wrap(native, kind)


@op(**MADE, memory=True, unspecified=True, oracle=lambda shape: np.zeros(shape),
    cases=lambda _: [((0, 2),)])  # fmt: skip
def empty(shape: Shape, kind: Kind) -> Tensor:
    """A tensor of `shape` with unspecified contents."""
    return wrap(kind.backend.empty(tuple(shape), kind.dtype, kind.index), kind)


def zeros_of(x: Tensor, shape: Shape) -> Tensor:
    """Zeros of `shape`, of the device and dtype of `x`."""
    kind = x._kind
    backend = kind.backend
    if anywhere[0] or backend.rules_only:  # somebody may watch, or there is no memory
        return full(shape, 0, kind)
    if not shape and backend.stands_for is not None:  # a number for each row
        return full(shape, 0, kind)
    native = backend.empty(tuple(shape), kind.dtype, kind.index)
    backend.fill(native, 0)
    return wrap(native, kind)


def counted(n: int, x: Tensor) -> Tensor:
    """0, 1, … n-1 as int32 on the device of `x`."""
    return iota(n, x._kind.with_dtype(int32))


@op(accepts=STORED, promote=None, nondifferentiable=True, unrounded=True,
    oracle=lambda x: np.zeros(x.shape), cases=lambda _: [[2, 3], []])  # fmt: skip
def zeros_like(input: Tensor) -> Tensor:
    """Zeros of the shape, device and dtype of `input`."""
    return zeros_of(input, tuple(input._a.shape))


@op(shape=lambda x, *, value: x, accepts=ANY, promote=None, unrounded=True,
    oracle=lambda x, value: np.full(x.shape, value),
    cases=lambda _: [([2, 3], 1), ([], 0.0)],
    grad=lambda ct: zeros_like(ct))  # fmt: skip
def filled(input: Tensor, value: Scalar) -> Tensor:
    """Like `input` with every element `value`; the gradient to `input` is zero."""
    return full(tuple(input._a.shape), value, input._kind)


def _working(kind: Kind) -> Kind:
    """The kind that numbers are counted in: exact for integers, wide for 16 bits."""
    if kind.dtype.is_inexact:
        return kind.with_dtype(float32) if kind.dtype in HALF else kind
    return kind.with_dtype(int64 if int64 in kind.backend.dtypes else int32)


def _stepped(start: Any, step: Any, count: int) -> Array:
    reach = abs(start) + abs(step) * count
    if isinstance(reach, int) and reach >= 1 << 63:  # beyond what NumPy counts in
        return np.array([start + i * step for i in range(count)])
    return np.asarray(start + np.arange(count) * step)


@op(**_COUNTED, oracle=_stepped)
def arange(start: Scalar, step: Scalar, count: int, kind: Kind) -> Tensor:
    """start, start + step, … of `count` elements."""
    wide = _working(kind)
    numbers = cast(iota(count, kind.with_dtype(int32)), wide.dtype)
    return cast(numbers * full((), step, wide) + full((), start, wide), kind.dtype)


@arange.cases
def _(make: Any) -> Iterator[Case]:
    yield case(0, 1, 2)
    yield case(1, 0, 3)
    if make.dtype.category:
        yield case(3, 2, 5)
    if make.dtype.is_inexact:
        yield case(1.0, -0.25, 7)
    yield case(0, 1, 0)


def _spaced(start: Any, end: Any, count: int) -> Array:
    step, i = (end - start) / max(count - 1, 1), np.arange(count)
    from_start, from_end = start + i * step, end - (count - 1 - i) * step
    spaced: Array = np.where(i < (count + 1) // 2, from_start, from_end)
    return spaced


@op(**_COUNTED, oracle=_spaced)
def linspace(start: Scalar, end: Scalar, count: int, kind: Kind) -> Tensor:
    """`count` evenly spaced numbers from `start` to `end`, both included.

    Each half is counted from its own end, so that both ends are exact.
    """
    wide = _working(kind)
    if not wide.dtype.is_inexact:
        wide = kind.with_dtype(float64 if float64 in kind.backend.dtypes else float32)
    step = (end - start) / max(count - 1, 1)
    number = iota(count, kind.with_dtype(int32))
    left = cast(number, wide.dtype) * full((), step, wide)
    right = cast(count - 1 - number, wide.dtype) * full((), step, wide)
    first = full((), start, wide) + left
    last = full((), end, wide) - right
    return cast(where(lt(number, (count + 1) // 2), first, last), kind.dtype)


@linspace.cases
def _(make: Any) -> Iterator[Case]:
    yield case(0, 4, 5)
    yield case(1, 1, 3)
    yield case(2, 9, 1)
    yield case(2, 9, 0)
    if make.dtype.is_inexact:
        yield case(-1.5, 2.0, 7)


@op(accepts=STORED, promote=None, result=lambda d, a: a["kind"].dtype, unrounded=True,
    memory=True, oracle=lambda x: x, cases=lambda _: [[2, 3], [0]])  # fmt: skip
def transfer(input: Tensor, kind: Kind, wait: bool = True) -> Tensor:
    """The values of `input` on another device.

    Args:
        wait: False lets the host go on, where memory is pinned: the values are there
            after a wait for the device, and `input` may not be written before.
    """
    here, native = input._kind, None
    if not wait:
        native = copied_later(
            here.backend, input._a, here.dtype, here.index, kind.backend, kind.index
        )
    if native is None:
        native = copied(here.backend, input._a, here.index, kind.backend, kind.index)
    return wrap(native, kind)


transfer.grad(input=lambda ct, input_kind: transfer(ct, input_kind))
