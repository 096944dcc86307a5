"""torch.masked: reductions and normalisations of the elements that a mask keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail.dtypes import DType, bool_, float32, int64
from dovetail.engine.integers import axes
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, ShapeError
from dovetail.frontend.statistics import vector_norm
from dovetail.limits import iinfo
from dovetail.ops.arithmetic import div
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import cast, where
from dovetail.ops.logaddexp import logaddexp as _logaddexp
from dovetail.ops.sums import sum as _sum
from dovetail.ops.view import expand

_TORCH = NAMESPACES["torch"]
Dims = int | Sequence[int] | None


def _mask(name: str, x: Tensor, mask: Tensor | None) -> Tensor | None:
    """The mask as bools in the shape of the input.

    Raises: ShapeError for a mask that does not broadcast to it.
    """
    if mask is None:
        return None
    fits = mask.ndim <= x.ndim and all(
        m in (1, n) for m, n in zip(mask.shape[::-1], x.shape[::-1], strict=False)
    )
    if not fits:
        raise ShapeError(
            name, "mask", was=f"of shape {tuple(mask.shape)}",
            needed=f"one that broadcasts to the input's {tuple(x.shape)}",
        )  # fmt: skip
    kept: Tensor = expand(cast(mask, bool_), tuple(x.shape))
    return kept


def _filled(name: str, x: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    kept = _mask(name, x, mask)
    return x if kept is None else where(kept, x, value)


def _dims(name: str, x: Tensor, dim: Dims) -> tuple[int, ...]:
    """All dims for None; none for an empty tuple, as torch has it here."""
    if isinstance(dim, tuple | list) and not dim:
        return ()
    return axes(name, "dim", dim, x.ndim)


def _as(x: Tensor, dtype: DType | None) -> Tensor:
    return x if dtype is None or x.dtype is dtype else cast(x, dtype)


def _accumulated(x: Tensor, dtype: DType | None) -> Tensor:
    """In the dtype asked for; integers and bools as int64 otherwise."""
    return _as(x, dtype or (x.dtype if x.dtype.is_inexact else int64))


def _least(dtype: DType) -> float:
    """What is below every number of a dtype."""
    if dtype is bool_:
        return False
    return -math.inf if dtype.is_floating_point else iinfo(dtype).min


def _greatest(dtype: DType) -> float:
    if dtype is bool_:
        return True
    return math.inf if dtype.is_floating_point else iinfo(dtype).max


@public("masked.sum")
def sum(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The sum of what `mask` keeps; 0 of nothing."""
    x = _filled("masked.sum", _accumulated(input, dtype), mask, 0)
    dims = _dims("masked.sum", x, dim)
    return _sum(x, dims, bool(keepdim), dtype=x.dtype) if dims else x


@public("masked.prod")
def prod(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The product of what `mask` keeps; 1 of nothing."""
    x = _filled("masked.prod", _accumulated(input, dtype), mask, 1)
    for d in sorted(_dims("masked.prod", x, dim), reverse=True):
        x = x.prod(d, bool(keepdim))
    return x


def _extreme(
    name: str, input: Tensor, dim: Dims, keepdim: bool | None, dtype: DType | None,
    mask: Tensor | None,
) -> Tensor:  # fmt: skip
    x = _as(input, dtype)
    least = name == "amax"
    x = _filled(f"masked.{name}", x, mask, (_least if least else _greatest)(x.dtype))
    dims = _dims(f"masked.{name}", x, dim)
    y: Tensor = _TORCH[name](x, dims, bool(keepdim)) if dims else x
    return y


@public("masked.amax")
def amax(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The greatest of what `mask` keeps; the least number of the dtype of nothing."""
    return _extreme("amax", input, dim, keepdim, dtype, mask)


@public("masked.amin")
def amin(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The least of what `mask` keeps; the greatest number of the dtype of nothing."""
    return _extreme("amin", input, dim, keepdim, dtype, mask)


@public("masked.argmax")
def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where the greatest of what `mask` keeps is; as torch has it, in its dtype."""
    x = _as(input, dtype)
    x = _filled("masked.argmax", x, mask, _least(x.dtype))
    return cast(_TORCH["argmax"](x, dim, bool(keepdim)), x.dtype)


@public("masked.argmin")
def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where the least of what `mask` keeps is; as torch has it, in its dtype."""
    x = _as(input, dtype)
    x = _filled("masked.argmin", x, mask, _greatest(x.dtype))
    return cast(_TORCH["argmin"](x, dim, bool(keepdim)), x.dtype)


@public("masked.cumsum")
def cumsum(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Sums up to each element, of which those that `mask` drops count as 0."""
    y: Tensor = _TORCH["cumsum"](
        _filled("masked.cumsum", _accumulated(input, dtype), mask, 0), dim
    )
    return y


@public("masked.cumprod")
def cumprod(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Products up to each element, of which those that `mask` drops count as 1."""
    y: Tensor = _TORCH["cumprod"](
        _filled("masked.cumprod", _accumulated(input, dtype), mask, 1), dim
    )
    return y


def _count(name: str, x: Tensor, dims: tuple[int, ...], mask: Any) -> Tensor:
    """How many elements are kept, in the dtype of `x`, with `dims` of size 1."""
    kept = _mask(name, x, mask)
    ones = cast(x.detach() == x.detach(), int64) * 0 + 1 if kept is None else kept
    return _sum(cast(ones, int64), dims, True) if dims else cast(ones, int64)


def _float_of(name: str, x: Tensor, dtype: DType | None) -> Tensor:
    x = _as(x, dtype)
    if not x.dtype.is_inexact:
        x = cast(x, float32)
    return x


def _mean(name: str, x: Tensor, dims: tuple[int, ...], mask: Any) -> Tensor:
    """With `dims` of size 1; NaN of nothing."""
    total = _filled(name, x, mask, 0)
    total = _sum(total, dims, True, dtype=x.dtype) if dims else total
    return div(total, cast(_count(name, x, dims, mask), x.dtype.real))


def _without(x: Tensor, dims: tuple[int, ...], keepdim: bool | None) -> Tensor:
    return x if keepdim or not dims else x.squeeze(dims)


@public("masked.mean")
def mean(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The mean of what `mask` keeps; NaN of nothing."""
    name = "masked.mean"
    whole = dtype or input.dtype
    if not whole.is_inexact:
        raise DTypeError(name, "input", was=whole.name, needed="inexact numbers")
    x = _as(input, dtype)
    dims = _dims(name, x, dim)
    return _without(_mean(name, x, dims, mask), dims, keepdim)


@public("masked.median")
def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The median along `dim` of what `mask` keeps."""
    x = _as(input, dtype)
    if not x.dtype.is_floating_point:
        raise DTypeError(
            "masked.median", "input", was=x.dtype.name, needed="floating point numbers"
        )
    x = x if x.ndim else x.reshape(1)
    if mask is None:
        y: Tensor = _TORCH["median"](x, dim, keepdim).values
    else:
        given = _filled("masked.median", x, mask, math.nan)
        y = _TORCH["nanmedian"](given, dim, keepdim).values
    return y if input.ndim else y.reshape(())


@public("masked.norm")
def norm(
    input: Tensor, ord: float | None = 2.0, dim: Dims = None, *,
    keepdim: bool | None = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The norm of vectors of what `mask` keeps."""
    name, power = "masked.norm", 2.0 if ord is None else ord
    x = _float_of(name, input, dtype)
    x = _filled(name, x, mask, math.inf if power < 0 else 0)
    dims = _dims(name, x, dim)
    return _vector_norm(x, power, dims, keepdim)


def _vector_norm(x: Tensor, power: float, dims: Any, keepdim: bool | None) -> Tensor:
    if not dims:
        return cast(x != 0, x.dtype.real) if power == 0 else abs(x)
    return vector_norm(x, power, dims, bool(keepdim))


def _spread(
    name: str, input: Tensor, dim: Dims, unbiased: bool | None,
    correction: float | None, keepdim: bool | None, dtype: DType | None, mask: Any,
) -> Tensor:  # fmt: skip
    """The variance; NaN where no more is kept than the correction takes away."""
    if unbiased is not None and correction is not None:
        raise ArgumentError(
            name, "correction", was=correction, needed="None beside `unbiased`"
        )
    less = correction if correction is not None else int(unbiased is not False)
    x = _as(input, dtype)
    x = x if x.dtype.is_inexact else cast(x, float32)
    dims = _dims(name, x, dim)
    off = _filled(name, x, mask, 0) - _mean(name, x, dims, mask)
    squares = _filled(name, off * off.conj(), mask, 0)
    total = _sum(squares, dims, True) if dims else squares
    count = cast(_count(name, x, dims, mask), total.dtype.real) - less
    return _without(total / count.clamp(min=0), dims, keepdim)


@public("masked.var")
def var(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *,
    correction: float | None = None, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The variance of what `mask` keeps."""
    return _spread("masked.var", input, dim, unbiased, correction, keepdim, dtype, mask)


@public("masked.std")
def std(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *,
    correction: float | None = None, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The standard deviation of what `mask` keeps."""
    return _spread(
        "masked.std", input, dim, unbiased, correction, keepdim, dtype, mask
    ).sqrt()


def _normalised(
    name: str, apply: str, input: Tensor, dim: int, dtype: DType | None, mask: Any
) -> Tensor:
    x = _as(input, dtype)
    fill = math.inf if apply == "softmin" else -math.inf
    x = _filled(name, x, mask, fill if x.dtype.is_inexact else _least(x.dtype))
    y: Tensor = NAMESPACES["F"][apply](x, dim)
    return y


@public("masked.softmax")
def softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Exponentials over their sum, of what `mask` keeps; 0 elsewhere."""
    return _normalised("masked.softmax", "softmax", input, dim, dtype, mask)


@public("masked.log_softmax")
def log_softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of `softmax`."""
    return _normalised("masked.log_softmax", "log_softmax", input, dim, dtype, mask)


@public("masked.softmin")
def softmin(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """`softmax` of what is negated."""
    return _normalised("masked.softmin", "softmin", input, dim, dtype, mask)


@public("masked.normalize")
def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Lines over their norm, which counts as `eps` at least; dropped elements are 0."""
    name = "masked.normalize"
    x = _as(input, dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask)
    size = cast(size.clamp(min=eps), x.dtype)
    return _filled(name, x, mask, 0) / size


@public("masked.logsumexp")
def logsumexp(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The logarithm of the sum of exponentials of what `mask` keeps."""
    x = _as(input, dtype)
    least = -math.inf if x.dtype.is_inexact else _least(x.dtype)
    x = _filled("masked.logsumexp", x, mask, least)
    dims = _dims("masked.logsumexp", x, dim)
    return cast(_TORCH["logsumexp"](x, dims, keepdim), x.dtype)


@public("masked.logaddexp")
def logaddexp(
    input: Tensor, other: Tensor, *, dtype: DType | None = None,
    input_mask: Tensor | None = None, other_mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """log(exp(input) + exp(other)), of what the masks keep."""
    x = _filled("masked.logaddexp", _as(input, dtype), input_mask, -math.inf)
    y = _filled("masked.logaddexp", _as(other, dtype), other_mask, -math.inf)
    return _logaddexp(x, y)
