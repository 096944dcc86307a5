"""Level 0: the functions that every backend supplies, in one place.

Formats and movement are in `formats`, arithmetic, comparison and the elementary
functions in `arithmetic`; here are reductions and products. Beside these, a backend has
the memory functions of `dovetail.device_api.Backend`: devices, empty, copy_in,
copy_out, view, geometry, fill, copy, synchronize.

Everything else in the vocabulary has a body that ends here. Elementwise kernels get
operands of one shape unless they declare `broadcasts`. All numbers arrive as 0-d
arrays of the promoted dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    NUMERIC,
    ORDERED,
    DType,
    int32,
)
from dovetail.engine.attributes import Axes
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.op import vocabulary
from dovetail.engine.tensor import Tensor
from dovetail.errors import EmptyDimError
from dovetail.ops.arithmetic import (
    add,
    bitwise_and,
    bitwise_xor,
    cos,
    div,
    eq,
    exp,
    float_pow,
    floor,
    fmod,
    idiv,
    log,
    lt,
    maximum,
    mul,
    shift_left,
    shift_right,
    sin,
    sqrt,
    sub,
    trunc_quotient,
)
from dovetail.ops.formats import (
    absent,
    assign_,
    bitcast,
    cast,
    clone,
    conj,
    iota,
    scatter_add_,
    scatter_set_,
    take_along,
    where,
)

# ---- reductions and products


def _sum_dtype(dtypes: Any, attrs: Any) -> Any:
    return attrs["dtype"] or dtypes[0]


def _reduced(shape: Any, *, dims: Any, **_: Any) -> tuple[int, ...]:
    return tuple(s for i, s in enumerate(shape) if i not in dims)


@op(
    sums=True,
    shape=_reduced,
    accepts=ANY,
    primitive=NUMERIC | BOOL,
    promote=None,
    result=_sum_dtype,
)
def reduce_sum(x: Tensor, dims: Axes, dtype: DType | None = None) -> Tensor:
    """Sum over `dims`, which vanish; accumulates in at least float32; empty gives 0.

    `dtype` is that of the result, None for that of `x`; bools are counted in an
    integer `dtype`, and or'ed without one.
    """
    absent("reduce_sum")


def _spread(y: Tensor, shape: Any, dims: Any) -> Tensor:
    """A reduced tensor repeated to the shape before the reduction."""
    for place, d in enumerate(dims):
        if d != place:  # leading dims come back by expanding alone
            y = vocabulary["unsqueeze"].function(y, d - _leading(dims))
    wide: Tensor = vocabulary["expand"].function(y, tuple(shape))
    return wide


def _leading(dims: Any) -> int:
    """How many of the sorted dims are 0, 1, … in a row."""
    return sum(d == place for place, d in enumerate(dims))


@reduce_sum.vjp
def _(ct: Tensor, x_shape: Any, x_dtype: DType, dims: Any) -> Tensor:
    wide = _spread(ct, x_shape, dims)
    return wide if ct.dtype is x_dtype else cast(wide, x_dtype)


@reduce_sum.oracle
def _(x: Any, dims: Any, dtype: Any = None) -> Any:
    y = np.sum(x, axis=dims)
    return y if x.dtype != bool or dtype else y > 0


@reduce_sum.cases
def _(make: Any) -> Any:
    yield case(make(2, 3, 4), (1,))
    yield case(make(2, 3, 4), (0, 2))
    yield case(make(2, 0), (1,))
    yield case(make(4), (0,), int32 if make.dtype.category == 0 else None)


def _reduced_filled(shape: Any, *, dims: Any) -> tuple[int, ...]:
    for d in dims:
        if not shape[d]:
            raise EmptyDimError(
                "reduce_max", f"dim {d}", was=f"empty (x: {tuple(shape)})",
                needed="at least one element to reduce over",
            )  # fmt: skip
    return _reduced(shape, dims=dims)


@op(shape=_reduced_filled, accepts=ORDERED, primitive=ORDERED, exact=True)
def reduce_max(x: Tensor, dims: Axes) -> Tensor:
    """Greatest element over `dims`, which vanish and are not empty; NaN wins."""
    absent("reduce_max")


@reduce_max.vjp
def _(ct: Tensor, x: Tensor, y: Tensor, dims: Any) -> Tensor:
    tie = cast(eq(x, _spread(y, x._a.shape, dims)), ct.dtype)
    share = ct / reduce_sum(tie, dims)
    return tie * _spread(share, x._a.shape, dims)


@reduce_max.oracle
def _(x: Any, dims: Any) -> Any:
    return np.max(x, axis=dims)


@reduce_max.cases
def _(make: Any) -> Any:
    yield case(make.distinct(2, 3, 4), (1,))
    yield case(make.distinct(2, 3, 4), (0, 2))
    yield case(make.distinct(0, 4), (1,))


@op(
    sums=True,
    shape="(b,n,k),(b,k,m)->(b,n,m)",
    accepts=NUMERIC,
    primitive=FLOAT | COMPLEX,
)
def bmm(a: Tensor, b: Tensor) -> Tensor:
    """Products of a batch of matrices [b, n, k] and [b, k, m].

    Accumulates in at least float32, without reduced-precision inputs; k = 0 gives 0.
    """
    return reduce_sum(a[:, :, :, None] * b[:, None, :, :], (2,))


@bmm.vjp(a="b", b="a")
def _(ct: Tensor, a: Any, b: Any, need: Any) -> tuple[Any, Any]:
    transpose = vocabulary["transpose"].function
    ga = bmm(ct, transpose(conj(b), 1, 2)) if need[0] else None
    gb = bmm(transpose(conj(a), 1, 2), ct) if need[1] else None
    return ga, gb


@bmm.oracle
def _(a: Any, b: Any) -> Any:
    return np.einsum("bnk,bkm->bnm", a, b)


@bmm.cases
def _(make: Any) -> Any:
    for n, k, m in ((2, 3, 4), (1, 1, 1), (2, 0, 3), (0, 2, 3)):
        yield case(make(2, n, k), make(2, k, m))
    yield case(make(0, 2, 3), make(0, 3, 2))


__all__ = [
    "add", "assign_", "bitcast", "bitwise_and", "bitwise_xor", "bmm", "cast", "clone",
    "conj", "cos", "div", "eq", "exp", "float_pow", "floor", "fmod", "idiv", "iota",
    "log", "lt", "maximum", "mul", "reduce_max", "reduce_sum", "scatter_add_",
    "scatter_set_", "shift_left", "shift_right", "sin", "sqrt", "sub", "take_along",
    "trunc_quotient", "where",
]  # fmt: skip
