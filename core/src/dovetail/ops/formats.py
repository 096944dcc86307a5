"""Level 0: formats of numbers, and movement of elements.

Kernels return fresh arrays, except the two scatters, which write their first argument.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np

from dovetail.dtypes import (
    COMPLEX_CATEGORY,
    FLOAT8,
    INT_CATEGORY,
    NUMERIC,
    STORED,
    Array,
    DType,
    bfloat16,
    bool_,
    complex128,
    float16,
    float32,
    float64,
    int32,
    int64,
    uint8,
)
from dovetail.engine.attributes import Axis, Operand
from dovetail.engine.basics import basics
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.kinds import Kind
from dovetail.engine.tensor import Tensor
from dovetail.errors import NotSupported, ShapeError
from dovetail.float8 import by_table

_INT32: Final = frozenset({int32})


def absent(op_name: str) -> NoReturn:
    """The body of an op that every backend has a kernel for.

    Raises:
        NotSupported: always.
    """
    raise NotSupported(op_name, "kernel", was="missing", needed="one on every backend")


def conj(input: Tensor) -> Tensor:
    """The complex conjugate for gradients; a real tensor is its own, at no cost."""
    if input._kind.dtype.category < COMPLEX_CATEGORY:
        return input
    conjugated: Tensor = basics.conj_physical(input)
    return conjugated


def _cast(x: Array, dtype: DType) -> Array:
    if dtype in FLOAT8 and x.dtype != dtype.numpy:
        return by_table(x, dtype)
    if x.dtype.kind == "c" and not dtype.is_complex and dtype is not bool_:
        x = x.real
    if x.dtype.kind not in "biuc" and dtype.category == INT_CATEGORY:
        return np.trunc(
            x.astype(np.float64)
        )  # tells of what the format has no room for
    return x.astype(dtype.numpy)


@op(accepts=STORED, primitive=STORED, promote=None, result=lambda d, a: a["dtype"],
    unrounded=True, row_major=True, oracle=_cast)  # fmt: skip
def cast(input: Tensor, dtype: DType) -> Tensor:
    """The values of `input` in another dtype, contiguous however `input` lies.

    To float: nearest even. To integers: truncated; NaN and overflow unspecified, but
    no trap. To bool: whether not zero. To real from complex: the real part.
    """
    absent("cast")


cast.grad(input=lambda ct, input_dtype: cast(ct, input_dtype))


@cast.cases
def _(make: Any) -> Any:
    low = 0 if not make.dtype.is_signed else None
    # Not from float64 to float32, whose steps are no gradient.
    double = make.dtype in (float64, complex128)
    for to in (int32, bool_, make.dtype, float64 if double else float32):
        yield case(make(2, 3, low=low), to)
    if not (double or make.dtype.is_complex):
        for to in (float16, bfloat16) if make.dtype.is_inexact else (uint8, int64):
            yield case(make(2, 3, low=low), to)
    yield case(make(), make.dtype)
    yield case(make(0, 2), int32)


@op(accepts=STORED, promote=None, unrounded=True, row_major=True, oracle=lambda x: x,
    grad=lambda ct: ct)  # fmt: skip
def clone(input: Tensor) -> Tensor:
    """A contiguous copy of `input` in memory of its own."""
    return cast(input, input.dtype)


def _bits(x: Array, dtype: DType) -> Array:
    if x.dtype.kind == "f" and dtype.category == 1:
        return x.astype(f"f{dtype.itemsize}").view(dtype.numpy)
    return x


@op(accepts=STORED, primitive=STORED, promote=None, result=lambda d, a: a["dtype"],
    unrounded=True, nondifferentiable=True, oracle=_bits,
    cases=lambda make: [
        case(make(2, 3), {float32: int32, float64: int64}.get(make.dtype, make.dtype)),
        case(make(0, 3), make.dtype), case(make(), make.dtype),
    ])  # fmt: skip
def bitcast(input: Tensor, dtype: DType) -> Tensor:
    """The raw bits of `input` read as another dtype of the same width."""
    absent("bitcast")


@op(accepts=STORED, promote=None, mutates=("input",), outputs=(), unrounded=True,
    memory=True, nondifferentiable=True, oracle=lambda x, source: source,
    cases=lambda make: [case(make(*n), make(*n)) for n in ((2, 3), ())])  # fmt: skip
def assign_(input: Tensor, source: Tensor) -> None:
    """Move the bits of `source`, of the same shape and dtype, into `input`."""
    input._kind.backend.copy(input._a, source._a)


@op(accepts=STORED, primitive=STORED, masks=("condition",), unrounded=True,
    oracle=np.where)  # fmt: skip
def where(condition: Tensor, input: Operand, other: Operand) -> Tensor:
    """`input` where the condition holds, else `other`; no NaN leaks from the rest."""
    absent("where")


where.grad(
    input=lambda ct, condition: where(condition, ct, 0),
    other=lambda ct, condition: where(condition, 0, ct),
)


def _along(op_name: str, shape: Any, index: Any, dim: int) -> tuple[int, ...]:
    if len(shape) != len(index):
        raise ShapeError(
            op_name, "index", was=f"of {len(index)} dims {index}",
            needed=f"{len(shape)} dims as in x {shape}",
            remedy="unsqueeze or expand it",
        )  # fmt: skip
    for d, (have, want) in enumerate(zip(shape, index, strict=True)):
        if d != dim and have != want:
            raise ShapeError(
                op_name, f"index size at dim {d}", was=want, needed=f"{have}, as in x"
            )
    return tuple(index)


@op(shape=lambda x, index, *, dim: _along("take_along", x, index, dim),
    accepts=STORED, primitive=STORED, indices=("index",), unrounded=True)  # fmt: skip
def take_along(input: Tensor, index: Tensor, dim: Axis) -> Tensor:
    """`input[..., index[..., i, ...], ...]` along `dim`; sizes elsewhere are equal.

    Indices are in range and not negative: callers have checked them.
    """
    absent("take_along")


def _scattered(name: str) -> Any:
    """No result; `index` and `src` have one shape, that of x but for `dim`."""

    def rule(x: Any, index: Any, src: Any, *, dim: int) -> tuple[()]:
        _along(name, x, index, dim)
        if tuple(src) != tuple(index):
            raise ShapeError(
                name, "src", was=f"of shape {src}", needed=f"{index}, as index has"
            )
        return ()

    return rule


@op(shape=_scattered("scatter_set_"), accepts=STORED, primitive=STORED,
    indices=("index",), mutates=("input",), outputs=(), unrounded=True,
    nondifferentiable=True)  # fmt: skip
def scatter_set_(input: Tensor, index: Tensor, src: Tensor, dim: Axis) -> None:
    """Write `src` to the places `index` along `dim` of `input`.

    `index` and `src` have one shape. Indices are in range; where one repeats, any one
    of its values stays.
    """
    absent("scatter_set_")


@op(sums=True, shape=_scattered("scatter_add_"), accepts=NUMERIC, primitive=NUMERIC,
    indices=("index",), mutates=("input",), outputs=(), unrounded=True,
    nondifferentiable=True)  # fmt: skip
def scatter_add_(input: Tensor, index: Tensor, src: Tensor, dim: Axis) -> None:
    """Add `src` to the places `index` along `dim`; repeated ones accumulate."""
    absent("scatter_add_")


@op(shape=lambda *, n, kind: (n,), accepts=_INT32, primitive=_INT32, result=int32,
    nondifferentiable=True, oracle=lambda n: np.arange(n, dtype=np.int32),
    cases=lambda _: [5, 0])  # fmt: skip
def iota(n: int, kind: Kind) -> Tensor:
    """0, 1, … n-1 in int32, the one dtype that it is asked for."""
    absent("iota")
