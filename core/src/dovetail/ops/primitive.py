"""Level 0: the functions that every backend supplies, written down in one place.

Beside these, a backend has the memory functions of `dovetail.device_api.Backend`:
devices, empty, copy_in, copy_out, view, geometry, fill, copy, synchronize.
Everything else in the vocabulary has a body that ends here. Kernels return fresh
arrays, except the two scatters, which write their first argument. Elementwise kernels
get operands of one shape unless they declare `broadcasts`. All numbers arrive as 0-d
arrays of the promoted dtype.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np

from dovetail.dtypes import (
    ANY,
    BITS,
    BOOL,
    COMPLEX,
    COMPLEX_CATEGORY,
    FLOAT,
    INEXACT,
    INTEGRAL,
    NUMERIC,
    ORDERED,
    REAL,
    DType,
    bfloat16,
    bool_,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
)  # fmt: skip
from dovetail.engine.attributes import Axes, Axis
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.kinds import Kind
from dovetail.engine.op import vocabulary
from dovetail.engine.tensor import Tensor
from dovetail.errors import EmptyDimError, NotSupported, ShapeError

_INT32: Final = frozenset({int32})


def _absent(op_name: str) -> NoReturn:
    raise NotSupported(op_name, "kernel", was="missing", needed="one on every backend")


def conj(x: Tensor) -> Tensor:
    """The complex conjugate for gradients; a real tensor is its own, at no cost."""
    if x._kind.dtype.category < COMPLEX_CATEGORY:
        return x
    conjugated: Tensor = vocabulary["conj_physical"].function(x)
    return conjugated


# ---- formats and movement


@op(
    accepts=ANY, primitive=ANY, promote=None, result=lambda d, a: a["dtype"], exact=True
)
def cast(x: Tensor, dtype: DType) -> Tensor:
    """The values of `x` in another dtype.

    To float: nearest even. To integers: truncated; NaN and overflow unspecified, but
    no trap. To bool: whether not zero. To real from complex: the real part.
    """
    _absent("cast")


@cast.vjp
def _(ct: Tensor, x_dtype: DType) -> Tensor:
    return cast(ct, x_dtype)


@op(accepts=ANY, promote=None, exact=True)
def clone(x: Tensor) -> Tensor:
    """A copy of `x` in memory of its own."""
    return cast(x, x.dtype)


@clone.vjp
def _(ct: Tensor) -> Tensor:
    return ct


@op(accepts=ANY, promote=None, mutates=("x",), outputs=(), exact=True,
    nondifferentiable=True)  # fmt: skip
def assign_(x: Tensor, source: Tensor) -> None:
    """Move the bits of `source`, of the same shape and dtype, into `x`."""
    x._kind.backend.copy(x._a, source._a)


@op(accepts=ANY, primitive=ANY, promote=None, result=lambda d, a: a["dtype"],
    exact=True, nondifferentiable=True)  # fmt: skip
def bitcast(x: Tensor, dtype: DType) -> Tensor:
    """The raw bits of `x` read as another dtype of the same width."""
    _absent("bitcast")


@op(accepts=ANY, primitive=ANY, masks=("condition",), exact=True)
def where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """`a` where the condition holds, else `b`; an unselected NaN never leaks."""
    _absent("where")


@where.vjp
def _(ct: Tensor, condition: Tensor, need: Any) -> tuple[Any, Any, Any]:
    a = where(condition, ct, 0) if need[1] else None
    b = where(condition, 0, ct) if need[2] else None
    return None, a, b


@cast.oracle
def _(x: Any, dtype: DType) -> Any:
    if x.dtype.kind == "c" and not dtype.is_complex and dtype is not bool_:
        x = x.real
    return x.astype(dtype.numpy)


@cast.cases
def _(make: Any) -> Any:
    for dtype in (bool_, int32, int64, float32, float16, bfloat16):
        yield case(make(2, 3), dtype)
    yield case(make(), make.dtype)


@clone.oracle
def _(x: Any) -> Any:
    return x


@bitcast.oracle
def _(x: Any, dtype: DType) -> Any:
    if x.dtype.kind == "f":
        x = x.astype(_SAME_WIDTH[dtype.name].numpy)
    elif x.dtype.kind == "c":
        x = x.astype(np.complex64 if dtype is int64 else np.complex128)
    return x.view(dtype.numpy)


# A float format for each dtype that its bits are read as.
_SAME_WIDTH: Final = {
    "int16": float16,
    "float16": bfloat16,
    "int32": float32,
    "int64": float64,
}


@bitcast.cases
def _(make: Any) -> Any:
    by_width = {1: int8, 2: int16, 4: int32, 8: int64, 16: complex128}
    to = float16 if make.dtype is bfloat16 else by_width[make.dtype.itemsize]
    yield case(make(2, 3), to)
    yield case(make(), to)


@where.oracle
def _(condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition, a, b)


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
    accepts=ANY, primitive=ANY, indices=("index",), exact=True)  # fmt: skip
def take_along(x: Tensor, index: Tensor, dim: Axis) -> Tensor:
    """`x[..., index[..., i, ...], ...]` along `dim`; sizes elsewhere are equal.

    Indices are in range and not negative: callers have checked them.
    """
    _absent("take_along")


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


@op(shape=_scattered("scatter_set_"), accepts=ANY, primitive=ANY,
    indices=("index",), mutates=("x",), outputs=(), exact=True,
    nondifferentiable=True)  # fmt: skip
def scatter_set_(x: Tensor, index: Tensor, src: Tensor, dim: Axis) -> None:
    """Write `src` to the places `index` along `dim` of `x`.

    `index` and `src` have one shape. Indices are in range; where one repeats, any one
    of its values stays.
    """
    _absent("scatter_set_")


@op(sums=True, shape=_scattered("scatter_add_"), accepts=NUMERIC, primitive=NUMERIC,
    indices=("index",), mutates=("x",), outputs=(), exact=True,
    nondifferentiable=True)  # fmt: skip
def scatter_add_(x: Tensor, index: Tensor, src: Tensor, dim: Axis) -> None:
    """Add `src` to the places `index` along `dim` of `x`; repeated ones accumulate."""
    _absent("scatter_add_")


@op(shape=lambda *, n, kind: (n,), accepts=_INT32, primitive=_INT32, result=int32,
    nondifferentiable=True)  # fmt: skip
def iota(n: int, kind: Kind) -> Tensor:
    """0, 1, … n-1 in int32, the one dtype that it is asked for."""
    _absent("iota")


@iota.oracle
def _(n: int) -> Any:
    return np.array(range(n), np.int32)


@iota.cases
def _(make: Any) -> Any:
    yield case(5)
    yield case(0)


# ---- arithmetic


@op(sums=True, accepts=ANY, primitive=NUMERIC)
def add(a: Tensor, b: Tensor) -> Tensor:
    """Sum; integers wrap (bools are or'ed, by the body)."""
    return a | b


@add.vjp
def _(ct: Tensor) -> tuple[Tensor, Tensor]:
    return ct, ct


@op(sums=True, accepts=NUMERIC, primitive=NUMERIC)
def sub(a: Tensor, b: Tensor) -> Tensor:
    """Difference; integers wrap."""
    _absent("sub")


@sub.vjp
def _(ct: Tensor, need: Any) -> tuple[Any, Any]:
    return ct, -ct if need[1] else None


@op(sums=True, accepts=ANY, primitive=NUMERIC)
def mul(a: Tensor, b: Tensor) -> Tensor:
    """Product; integers wrap (bools are and'ed, by the body)."""
    return a & b


@mul.vjp(a="b", b="a")
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> tuple[Any, Any]:
    ga = mul(ct, conj(b)) if need[0] else None
    gb = mul(ct, conj(a)) if need[1] else None
    return ga, gb


@op(accepts=INEXACT, primitive=INEXACT, promote="float")
def div(a: Tensor, b: Tensor) -> Tensor:
    """Quotient, at most 2.5 ulp; IEEE 754 at 0; integers have become floats."""
    _absent("div")


@div.vjp(b=("a", "b"), y="b")
def _(ct: Tensor, b: Tensor, y: Tensor, need: Any) -> tuple[Any, Any]:
    ga = ct / conj(b)
    return ga, -ga * conj(y) if need[1] else None


@op(accepts=INTEGRAL, primitive=INTEGRAL, nondifferentiable=True)
def idiv(a: Tensor, b: Tensor) -> Tensor:
    """Integer quotient, truncated; MIN / -1 wraps, n / 0 is 0 and does not trap."""
    _absent("idiv")


@op(accepts=FLOAT, primitive=FLOAT, promote="float")
def fmod(a: Tensor, b: Tensor) -> Tensor:
    """Remainder with the sign of `a`, exact: a - trunc(a / b) * b unrounded."""
    _absent("fmod")


@fmod.vjp(a="b", b="b")
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> tuple[Any, Any]:
    return ct, -ct * trunc_quotient(a, b) if need[1] else None


def trunc_quotient(a: Tensor, b: Tensor) -> Tensor:
    """a / b rounded towards zero, from the exact remainder."""
    return (a - fmod(a, b)) / b


@op(accepts=INEXACT, primitive=INEXACT, promote="float", domain=(0.0, 9.0))
def sqrt(x: Tensor) -> Tensor:
    """Square root, at most 3 ulp; NaN below zero."""
    _absent("sqrt")


@sqrt.vjp
def _(ct: Tensor, y: Tensor) -> Tensor:
    return ct / (2 * conj(y))


@op(accepts=REAL, primitive=FLOAT, exact=True)
def floor(x: Tensor) -> Tensor:
    """The greatest integer not above; keeps -0 (integers: by the body)."""
    return clone(x)


@floor.vjp
def _(ct: Tensor) -> Tensor:
    return ct * 0


@op(accepts=ORDERED, primitive=REAL, exact=True)
def maximum(a: Tensor, b: Tensor) -> Tensor:
    """The greater; NaN if either is NaN (bools are or'ed, by the body)."""
    return a | b


@maximum.vjp
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> tuple[Any, Any]:
    half = ct / 2
    tie = eq(a, b)
    # As in torch, both have the whole cotangent where one of them is NaN.
    ga = where(tie, half, where(lt(a, b), 0, ct)) if need[0] else None
    gb = where(tie, half, where(lt(b, a), 0, ct)) if need[1] else None
    return ga, gb


# ---- predicates and bits


@op(accepts=ORDERED, primitive=ORDERED, result=bool_, nondifferentiable=True)
def lt(a: Tensor, b: Tensor) -> Tensor:
    """Whether a < b; NaN compares false."""
    _absent("lt")


@op(accepts=ANY, primitive=ANY, result=bool_, nondifferentiable=True)
def eq(a: Tensor, b: Tensor) -> Tensor:
    """Whether a equals b; NaN compares false."""
    _absent("eq")


@op(accepts=BITS, primitive=BITS, nondifferentiable=True)
def bitwise_and(a: Tensor, b: Tensor) -> Tensor:
    """Bitwise and."""
    _absent("bitwise_and")


@op(accepts=BITS, primitive=BITS, nondifferentiable=True)
def bitwise_xor(a: Tensor, b: Tensor) -> Tensor:
    """Bitwise exclusive or."""
    _absent("bitwise_xor")


@op(accepts=INTEGRAL, primitive=INTEGRAL, nondifferentiable=True)
def shift_left(a: Tensor, b: Tensor) -> Tensor:
    """`a` shifted left by 0 <= b < width bits."""
    _absent("shift_left")


@op(accepts=INTEGRAL, primitive=INTEGRAL, nondifferentiable=True)
def shift_right(a: Tensor, b: Tensor) -> Tensor:
    """`a` shifted right by 0 <= b < width bits, zeros coming in (logical)."""
    _absent("shift_right")


# ---- transcendental


@op(accepts=INEXACT, primitive=INEXACT, promote="float")
def exp(x: Tensor) -> Tensor:
    """e to the power of x, at most 3 ulp."""
    _absent("exp")


@exp.vjp
def _(ct: Tensor, y: Tensor) -> Tensor:
    return ct * conj(y)


@op(accepts=INEXACT, primitive=INEXACT, promote="float", domain=(0.1, 9.0))
def log(x: Tensor) -> Tensor:
    """Natural logarithm, at most 3 ulp; -inf at 0, NaN below."""
    _absent("log")


@log.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct / conj(x)


@op(accepts=INEXACT, primitive=INEXACT, promote="float")
def sin(x: Tensor) -> Tensor:
    """Sine of x in radians, at most 4 ulp."""
    _absent("sin")


@sin.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct * conj(cos(x))


@op(accepts=INEXACT, primitive=INEXACT, promote="float")
def cos(x: Tensor) -> Tensor:
    """Cosine of x in radians, at most 4 ulp."""
    _absent("cos")


@cos.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return -ct * conj(sin(x))


@op(accepts=INEXACT, primitive=INEXACT, promote="float", domain=(0.1, 3.0))
def float_pow(a: Tensor, b: Tensor) -> Tensor:
    """a to the power of b, at most 16 ulp; IEEE 754 pow at the special points."""
    _absent("float_pow")


@float_pow.vjp(a=("a", "b"), b=("a", "b"), y="b")
def _(ct: Tensor, a: Tensor, b: Tensor, y: Tensor, need: Any) -> tuple[Any, Any]:
    ga = gb = None
    if need[0]:
        # b * a^(b-1), which is 0 and not NaN where b is 0
        ga = ct * where(eq(b, 0), 0, conj(b * float_pow(a, b - 1)))
    if need[1]:
        # y * log a, which is 0 where y is 0 with a = 0
        safe = where(eq(a, 0), 1, a)
        gb = ct * conj(where(eq(a, 0), 0, y * log(safe)))
    return ga, gb


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
    _absent("reduce_sum")


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
    _absent("reduce_max")


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
