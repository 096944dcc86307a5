"""Normalisation over dims, each pass in the memory of the last."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import FLOAT, HALF
from dovetail.xp.kernels import Large
from dovetail.xp.orders import by_channels, rows
from dovetail.xp.short_rows import Norm, ShortNorm
from dovetail.xp.slabs import slabs

Dims = tuple[int, ...]


def install(table: KernelTable, xp: Any) -> None:
    """Add normalisations to a table."""
    for name, make in (
        ("normalise_backward", _normalise_backward),
        ("normalise_weight_backward", _normalise_weight_backward),
        ("normalise_by", _normalise_by),
    ):
        table.add(name, make(xp), dtypes=FLOAT - HALF, checks=True)
    for dtype in FLOAT - HALF:
        add = partial(table.add, dtypes={dtype}, binds=True, checks=True)
        add("normalise", _normalise(xp, dtype.numpy))
        add("layer_norm", _layer_norm(xp, dtype.numpy))


def _share(xp: Any, x: Any, dims: Dims) -> Any:
    """One over the number of elements that are normalised together.

    As an array without dims, which ufuncs take twice as fast as a number.
    """
    count = 1
    for d in dims:
        count *= x.shape[d]
    return xp.array(1 / max(count, 1), x.dtype)


def _as_cut(xp: Any, v: Any, x: Any, parts: tuple[Any, ...]) -> Any:
    """`v` in the shape of `x` where that is cut, for which broadcasting takes time."""
    if v is None or len(parts) == 1:
        return v
    return xp.broadcast_to(v, x.shape)


def _normalise(xp: Any, dtype: Any) -> Callable[..., Any]:
    general, short = _of_any_size(xp), ShortNorm(xp, dtype)

    def normalise(dims: Dims) -> Norm:
        def call(x: Any, weight: Any, bias: Any, eps: float) -> Any:
            if dims == (x.ndim - 1,) and short.fits(x, weight, bias, eps):
                return short.with_statistics(x, weight, bias, eps)
            return general(x, weight, bias, dims, eps)

        return call

    return normalise


def _layer_norm(xp: Any, dtype: Any) -> Callable[..., Any]:
    """`normalise` over the last dims, without the statistics."""
    general = _of_any_size(xp)

    def layer_norm(normalized_shape: Dims, large: Large | None = None) -> Norm:
        short = ShortNorm(xp, dtype)  # which knows rows of this width alone

        def beside(x: Any, weight: Any, bias: Any, eps: float) -> Any:
            first = max(x.ndim - len(normalized_shape), 0)
            for a in (x.shape[first:], weight, bias):
                if a is not None and getattr(a, "shape", a) != normalized_shape:
                    raise ValueError  # the op's rule words it
            if large is not None and x.size >= large.least:
                y = large.serve(x, weight, bias, eps)
                if y is not None:
                    return y
                # And never by products, which all of this shape would have then.
            elif first == x.ndim - 1 and short.fits(x, weight, bias, eps):
                return short(x, weight, bias, eps)
            return general(x, weight, bias, tuple(range(first, x.ndim)), eps)[0]

        return short.call(beside) if len(normalized_shape) == 1 else beside

    return layer_norm


def _of_any_size(xp: Any) -> Callable[..., Any]:
    add, multiply, subtract = xp.add, xp.multiply, xp.subtract
    sqrt, divide, total = xp.sqrt, xp.divide, xp.add.reduce

    # `out` and `keepdims` by position: by name they take as long as a small sum
    def normalise(x: Any, weight: Any, bias: Any, dims: Dims, eps: float) -> Any:
        dtype = x.dtype
        share, one = _share(xp, x, dims), xp.array(1, dtype)
        epsilon = xp.array(eps, dtype)
        y = xp.empty(x.shape, dtype)
        mean = rows(total(x, dims, None, None, True))
        mean *= share
        var, rstd = xp.empty(mean.shape, dtype), xp.empty(mean.shape, dtype)
        parts = slabs(xp, x, dims)
        w, b = _as_cut(xp, weight, x, parts), _as_cut(xp, bias, x, parts)
        for at in parts:
            part, scale, spread = y[at], rstd[at], var[at]
            subtract(x[at], mean[at], part)
            total(multiply(part, part), dims, None, spread, True)
            multiply(spread, share, spread)
            sqrt(add(spread, epsilon, scale), scale)
            divide(one, scale, scale)
            multiply(part, scale, part)
            if w is not None:
                multiply(part, w[at], part)
            if b is not None:
                add(part, b[at], part)
        return y, mean, var, rstd

    return normalise


def _normalise_backward(xp: Any) -> Callable[..., Any]:
    add = xp.add.reduce

    def normalise_backward(
        ct: Any, x: Any, weight: Any, mean: Any, rstd: Any, dims: Dims
    ) -> Any:
        share = _share(xp, x, dims)
        parts = slabs(xp, x, dims)
        w = _as_cut(xp, weight, x, parts)
        gx = xp.empty(x.shape, x.dtype)
        for at in parts:
            z, scale = gx[at], rstd[at]
            g = ct[at] if w is None else ct[at] * w[at]
            xp.subtract(x[at], mean[at], z)
            z *= scale
            z *= add(g * z, dims, None, None, True) * share
            z += add(g, dims, None, None, True) * share
            xp.subtract(g, z, z)
            z *= scale
        return gx

    return normalise_backward


def _normalise_weight_backward(xp: Any) -> Callable[..., Any]:
    add = xp.add.reduce

    def normalise_weight_backward(
        ct: Any, x: Any, mean: Any, rstd: Any, weight_shape: Dims
    ) -> Any:
        wide = (1,) * (x.ndim - len(weight_shape)) + tuple(weight_shape)
        dims = tuple(d for d, n in enumerate(wide) if n == 1)
        total = xp.zeros(wide, x.dtype)
        parts = slabs(xp, x, ())
        mean, rstd = (_as_cut(xp, v, x, parts) for v in (mean, rstd))
        for at in parts:
            z = x[at] - mean[at]
            z *= rstd[at]
            z *= ct[at]
            part = add(z, axis=dims, keepdims=True)
            if part.shape == wide:
                total += part
            else:
                total[at] += part
        return total.reshape(weight_shape)

    return normalise_weight_backward


def _normalise_by(xp: Any) -> Callable[..., Any]:
    def normalise_by(
        x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float
    ) -> Any:
        scale = 1 / xp.sqrt(var + x.dtype.type(eps))
        if weight is not None:
            scale = scale * weight
        shift = -mean * scale
        y = xp.asarray(x * scale)
        y += shift if bias is None else shift + bias
        return y if by_channels(y) else rows(y)

    return normalise_by
