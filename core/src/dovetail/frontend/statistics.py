"""torch's statistics: variance, norms, quantiles, covariance, counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from dovetail import dtypes
from dovetail.dtypes import DType, as_dtype, float64, promote_types
from dovetail.engine.checks import at_hand
from dovetail.engine.elements import stored
from dovetail.engine.integers import axes
from dovetail.engine.later import load
from dovetail.engine.level_hooks import gathered
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    EmptyDimError,
    ShapeError,
)
from dovetail.ops import reduce as r
from dovetail.ops import statistics as s
from dovetail.ops import sums
from dovetail.ops.bounds import clamp
from dovetail.ops.create import zeros_of
from dovetail.ops.matmul import matmul
from dovetail.ops.primitive import cast, conj, scatter_add_, sqrt
from dovetail.ops.view import basic_index, reshape, transpose


def _offer_spread(name: str, of: Any) -> None:
    """Offer `name` and `name_mean`, in torch's old and new ways to call them."""

    def spread(
        input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False,
        *, correction: int | float | None = None,
    ) -> Tensor:  # fmt: skip
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        freed = int(unbiased) if correction is None else correction
        found: Tensor = of(input, dim, freed, keepdim)
        return found

    def spread_mean(
        input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False,
        *, correction: int | float | None = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        found = spread(input, dim, unbiased, keepdim, correction=correction)
        return found, r.mean(input, None if isinstance(dim, bool) else dim, keepdim)

    spread.__doc__ = f"""{of.__doc__}
    The correction is 1, or 0 unless `unbiased`.

    >>> torch.tensor([1.0, 3.0]).{name}(correction=0)
    tensor(1.)
    """
    spread_mean.__doc__ = f"`{name}`, and the mean over the same dims."
    public(name, out=True)(_one_form(name, spread))
    public(f"torch.{name}_mean", out=True)(_one_form(f"{name}_mean", spread_mean))


def _one_form(name: str, spread: Callable[..., Any]) -> Callable[..., Any]:
    """`spread`, which takes `unbiased` or `correction`, not both."""

    @wraps(spread)
    def call(*args: Any, **given: Any) -> Any:
        if "correction" in given:
            flags = [*args[1:], given.get("dim")]
            if "unbiased" in given or len(args) > 2 or isinstance(flags[0], bool):
                raise ArgumentTypeError(
                    name, "correction", was="given beside unbiased",
                    needed="one of them",
                )  # fmt: skip
        elif "unbiased" in given and len(args) > 1 and isinstance(args[1], bool):
            raise ArgumentTypeError(name, "unbiased", was="given twice", needed="once")
        return spread(*args, **given)

    return call


_offer_spread("var", s.var)
_offer_spread("std", s.std)


@public("norm", out="same")
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The p-norm of the elements over `dim`; `"fro"` is that of 2."""
    if isinstance(p, str) and p == "nuc":
        load("dovetail.frontend.linalg")
        dims = tuple(range(input.ndim)) if dim is None else dim
        found: Tensor = NAMESPACES["linalg"]["matrix_norm"](
            input, "nuc", dims, keepdim, dtype=dtype
        )
        return found
    plain = p is None or (isinstance(p, str) and p == "fro")
    return vector_norm(input, 2 if plain else p, dim, keepdim, dtype=dtype)


def vector_norm(
    x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """sum(|x|^ord)^(1/ord) over `dim`; inf and -inf are the extremes, 0 counts."""
    if dtype is not None:
        dtype = as_dtype(dtype, "norm")
        if not x.dtype.is_inexact or dtype.is_complex is not x.dtype.is_complex:
            raise DTypeError(
                "norm", "dtype", was=f"{dtype.name} for {x.dtype.name}",
                needed="a float dtype for floats, a complex one for complex numbers",
            )  # fmt: skip
        if promote_types(x.dtype, dtype) is not dtype:
            raise DTypeError(
                "norm", "dtype", was=f"{dtype.name} for {x.dtype.name}",
                needed="a dtype that holds the input's numbers",
            )  # fmt: skip
        x = cast(x, dtype)
    if not isinstance(ord, int | float):
        raise ArgumentTypeError(
            "norm", "p", was=repr(ord), needed="a real number, 'fro' or None"
        )
    if ord < 0:
        _require_filled(x, ord, dim)
    return s.vector_norm(x, stored("norm", float64, ord, "p"), dim, keepdim)


def _require_filled(x: Tensor, p: Any, dim: Any) -> None:
    """Raise where a negative power is summed over nothing.

    Raises:
        EmptyDimError: a dim of those is empty.
    """
    shape = tuple(x._a.shape)
    if any(shape[d] == 0 for d in axes("norm", "dim", dim, x.ndim)):
        raise EmptyDimError(
            "norm", "input", was=f"empty ({shape})",
            needed=f"elements to take the norm of {p} over",
        )  # fmt: skip


@public("dist")
def dist(input: Tensor, other: Tensor, p: Any = 2) -> Tensor:
    """The p-norm of the difference."""
    return vector_norm(input - other, p)


@public("cov")
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The covariance of variables (rows) over observations (columns)."""
    if input.ndim > 2:
        raise ShapeError(
            "cov", "input", was=f"{input.ndim}-d", needed="two dims or fewer"
        )
    if not input.dtype.is_inexact:
        input = cast(input, dtypes.get_default_dtype())
    x = input if input.ndim == 2 else reshape(input, (1, -1))
    weights = _weights(x, fweights, aweights)
    if weights is None:
        total: Any = x._a.shape[1]
        away = x - r.mean(x, 1, True)
        left = away
        freedom: Any = max(0, total - correction)
    else:
        total = sums.sum(weights)
        if not x._a.shape[1]:
            raise ArgumentError(
                "cov", "input", was="without observations, of which there are weights",
                needed="at least one",
            )  # fmt: skip
        away = x - sums.sum(x * weights, 1, True) / total
        left = away * weights
        spare: Any = 1
        if aweights is not None:
            spare = sums.sum(weights * cast(aweights, x.dtype.real)) / total
        freedom = clamp(total - correction * spare, 0, None)
    y: Tensor = matmul(left, transpose(conj(away), 0, 1)) / freedom
    return reshape(y, ()) if tuple(y._a.shape) == (1, 1) else y


def _weights(x: Tensor, counts: Tensor | None, scales: Tensor | None) -> Tensor | None:
    for name, w in (("fweights", counts), ("aweights", scales)):
        if w is not None and tuple(w._a.shape) != (x._a.shape[1],):
            raise ShapeError(
                "cov", name, was=f"of shape {tuple(w.shape)}",
                needed=f"({x._a.shape[1]},), one for each observation",
            )  # fmt: skip
    if counts is not None and counts.dtype.is_inexact:
        raise DTypeError(
            "cov", "fweights", was=counts.dtype.name, needed="an integer dtype"
        )
    if scales is not None and not scales.dtype.is_floating_point:
        raise DTypeError(
            "cov", "aweights", was=scales.dtype.name, needed="a floating point dtype"
        )
    for name, w in (("fweights", counts), ("aweights", scales)):
        values = None if w is None else at_hand(w)
        if values is not None and (values < 0).any():
            raise ArgumentError("cov", name, was="negative", needed="0 or more")
        if values is not None and values.size and not values.any():
            raise ArgumentError("cov", name, was="all 0", needed="one above 0")
    given = [cast(w, x.dtype.real) for w in (counts, scales) if w is not None]
    if not given:
        return None
    return given[0] if len(given) == 1 else given[0] * given[1]


@public("corrcoef")
def corrcoef(input: Tensor) -> Tensor:
    """The correlation of variables (rows), limited to -1 and 1."""
    c = cov(input)
    if not c.ndim:
        return c / c
    n = c._a.shape[0]
    diagonal = basic_index(reshape(c, (-1,)), (slice(0, n * n, n + 1),))
    spread = sqrt(reshape(diagonal, (n, 1)))
    y = c / spread / conj(transpose(spread, 0, 1))
    return y if y.dtype.is_complex else clamp(y, -1, 1)


@public("bincount", out=True)
def bincount(
    input: Tensor, weights: Tensor | None = None, minlength: int = 0
) -> Tensor:
    """How often each of 0, 1, … occurs, or the sum of its weights.

    Args:
        input: [n] integers from 0 on.
        weights: [n], added up instead of ones.
        minlength: the least length of the result.

    Raises: ArgumentError for negative numbers. Waits for the values.

    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if weights is None:
        return s.bincount(input, minlength)
    if tuple(weights._a.shape) != tuple(input._a.shape):
        raise ShapeError(
            "bincount", "weights", was=f"of shape {tuple(weights.shape)}",
            needed=f"{tuple(input.shape)}, that of input",
        )  # fmt: skip
    index, n = s.bins_of(input, minlength)
    if weights.dtype is not dtypes.float32:
        weights = cast(weights, float64)
    index, weights = gathered((index, weights))
    found = zeros_of(weights, (n,))
    if input._a.shape[0]:
        scatter_add_(found, index, weights.detach(), 0)
    return found


__all__ = ["vector_norm"]
