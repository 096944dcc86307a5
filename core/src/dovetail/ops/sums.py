"""Sums over dims, of which the other reductions are built, and helpers of them all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import ANY, BOOL, NUMERIC, Array, DType, Sizes, int32, int64
from dovetail.engine.attributes import Axes, Shape
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.formats import absent, cast, clone
from dovetail.ops.view import expand, reshape, unsqueeze


def kept(shape: Any, dims: Sizes) -> Sizes:
    """`shape` with the reduced dims as 1."""
    return tuple(1 if d in dims else n for d, n in enumerate(shape))


def without(shape: Any, dims: Any, keepdim: bool = False) -> Sizes:
    """`shape` after a reduction over `dims`."""
    if keepdim:
        return kept(shape, dims)
    return tuple(n for d, n in enumerate(shape) if d not in dims)


def count(shape: Any, dims: Any) -> int:
    """How many elements are reduced to one."""
    return math.prod(shape[d] for d in dims)


def as_kept(y: Tensor, shape: Any, dims: Sizes, keepdim: bool) -> Tensor:
    """A reduced tensor with the reduced dims as 1, whether it had kept them or not."""
    return y if keepdim or not dims else reshape(y, kept(shape, dims))


def spread(ct: Tensor, shape: Any, dims: Sizes, keepdim: bool) -> Tensor:
    """A reduced tensor repeated to the shape before the reduction."""
    if not keepdim and len(ct._a.shape):
        leading = [d for place, d in enumerate(dims) if d == place]
        for d in dims[len(leading) :]:  # the leading ones come back by expanding
            ct = unsqueeze(ct, d - len(leading))
    return expand(ct, tuple(shape))


def as_dtype_of(ct: Tensor, dtype: DType) -> Tensor:
    """A cotangent in the dtype of what it is of."""
    return ct if ct._kind.dtype is dtype else cast(ct, dtype)


def _sum_gradient(
    ct: Tensor, input_shape: Any, input_dtype: DType, dim: Sizes, keepdim: bool
) -> Tensor:
    wide = spread(ct, input_shape, dim, keepdim)
    return wide if wide._kind.dtype is input_dtype else cast(wide, input_dtype)


def axis_of(dim: Any) -> Any:
    """Dims as NumPy takes them."""
    return tuple(dim) or None if isinstance(dim, list | tuple) else dim


def reduced(function: Any) -> Any:
    """An oracle of a reduction, by a function of NumPy's with `axis` and `keepdims`.

    Integers that are reduced as floats are floats first, and do not wrap.
    """

    def oracle(
        x: Array, dim: Any = None, keepdim: Any = False, dtype: Any = None
    ) -> Any:
        wide = x if dtype is None or not dtype.is_inexact else x * 1.0
        return np.asarray(function(wide, axis=axis_of(dim), keepdims=keepdim))

    return oracle


def sum_dtype(dtypes: Any, attrs: Any) -> DType:
    """The dtype asked for, else int64 for bools and integers."""
    asked: DType | None = attrs["dtype"]
    own: DType = dtypes[0]
    return asked or (own if own.is_inexact else int64)


def cases_summed(make: Any) -> Iterator[Case]:
    """Calls of any reduction over dims that hold elements."""
    yield case(make(5))
    yield case(make(2, 3, 4), 1)
    yield case(make(2, 3, 4), (0, -1), True)
    yield case(make(2, 3, 4).transpose(2, 0, 1), -1)
    yield case(make(), keepdim=True)
    yield case(make(), 0)


def cases_empty(make: Any) -> Iterator[Case]:
    """The same, and calls over nothing."""
    yield from cases_summed(make)
    yield case(make(0, 3), 1)
    yield case(make(2, 0), 1, True)


def _cases_sum(make: Any) -> Iterator[Case]:
    yield from cases_empty(make)
    if not make.dtype.is_inexact:
        yield case(make(2, 4), (0,), dtype=int32)


@op(sums=True, shape="(n@dim)->()", accepts=ANY, primitive=NUMERIC | BOOL, promote=None,
    result=sum_dtype, torch="sum", out="dtype", oracle=reduced(np.sum),
    cases=_cases_sum, grad=_sum_gradient)  # fmt: skip
def sum(
    input: Tensor, dim: Axes = None, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The sum over `dim` in `dtype`; empty gives 0, 16-bit floats accumulate wider.

    Without `dtype`, integers add up in int64 (or int32).

    Args:
        dim: one, several, or None for all.

    Raises: DimError for a dim not there.

    >>> import dovetail as dt
    >>> dt.tensor([[1.0, 2.0], [3.0, 4.0]]).sum(0)
    tensor([4., 6.])
    """
    absent("sum")


def _summed_to(x: Array, shape: Sizes) -> Array:
    y = np.zeros(math.prod(shape), x.dtype)
    places = np.arange(y.size).reshape(shape)
    np.add.at(y, np.broadcast_to(places, x.shape), x)
    return y.reshape(shape)


def _cases_to(make: Any) -> Iterator[Case]:
    if make.dtype.category:
        yield case(make(2, 3, 4), (3, 1))
        yield case(make(2, 3), ())
    yield case(make(2, 3), (2, 3))


def _smaller(input: Sizes, *, shape: Sizes) -> Sizes:
    pairs = zip(input[::-1], shape[::-1], strict=False)
    if len(shape) > len(input) or any(m not in (1, n) for n, m in pairs):
        raise ShapeError(
            "sum_to", "shape", was=shape, needed=f"one that broadcasts to {input}"
        )
    return shape


@op(sums=True, shape=_smaller, accepts=ANY, promote=None,
    oracle=_summed_to, cases=_cases_to,
    grad=lambda ct, input_shape: expand(ct, input_shape))  # fmt: skip
def sum_to(input: Tensor, shape: Shape) -> Tensor:
    """Sum over the dims that broadcasting would add or stretch from `shape`."""
    size = tuple(input._a.shape)
    extra = len(size) - len(shape)
    dims = tuple(d for d, n in enumerate(size) if d < extra or n != shape[d - extra])
    y = sum(input, dims, dtype=input.dtype) if dims else clone(input)
    return reshape(y, shape)


# Each is the other's gradient.
expand.grad(input=lambda ct, input_shape: sum_to(ct, input_shape))
