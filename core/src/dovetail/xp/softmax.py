"""Softmax and its logarithm, with few passes over memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import FLOAT, HALF
from dovetail.xp.reduce import CAREFUL, careful_sum
from dovetail.xp.slabs import slabs


def install(table: KernelTable, xp: Any) -> None:
    """Add softmax, its logarithm, and their gradients to a table."""
    for name, make in (
        ("softmax", _softmax), ("log_softmax", log_softmax_of),
        ("softmax_backward", _softmax_backward),
        ("log_softmax_backward", _log_softmax_backward),
    ):  # fmt: skip
        checks = not name.endswith("backward")
        table.add(name, make(xp), dtypes=FLOAT - HALF, binds=True, checks=checks)


def _softmax(xp: Any) -> Callable[..., Any]:
    add, top, exp = xp.add.reduce, xp.maximum.reduce, xp.exp

    def softmax(dim: int) -> Callable[..., Any]:
        def call(x: Any) -> Any:
            y = xp.empty(x.shape, x.dtype)
            for at in slabs(xp, x, (dim,)) if x.size else ():
                part, e = x[at], y[at]
                xp.subtract(part, top(part, dim, None, None, True), e)
                exp(e, e)
                e /= add(e, dim, None, None, True)
            return y

        return call

    return softmax


def log_softmax_of(xp: Any) -> Callable[..., Any]:
    """The logarithm of softmax for a library of arrays, by dim."""
    add, top, exp, log = xp.add.reduce, xp.maximum.reduce, xp.exp, xp.log

    def log_softmax(dim: int) -> Callable[..., Any]:
        def call(x: Any) -> Any:
            y = xp.empty(x.shape, x.dtype)
            for at in slabs(xp, x, (dim,)) if x.size else ():
                part, e = x[at], y[at]
                xp.subtract(part, top(part, dim, None, None, True), e)
                e -= log(add(exp(e), dim, None, None, True))
            return y

        return call

    return log_softmax


def _softmax_backward(xp: Any) -> Callable[..., Any]:
    add = xp.add.reduce

    def softmax_backward(dim: int) -> Callable[..., Any]:
        def call(ct: Any, y: Any) -> Any:
            gx = xp.empty(y.shape, y.dtype)
            for at in slabs(xp, y, (dim,)):
                g, p = gx[at], y[at]
                xp.multiply(ct[at], p, out=g)
                g -= p * _total(add, g, dim)
            return gx

        return call

    return softmax_backward


def _total(add: Any, a: Any, dim: int) -> Any:
    """The sum over one dim, kept; a long one with care."""
    if a.size > CAREFUL:
        return careful_sum(add, a, (dim,), True)
    return add(a, dim, None, None, True)


def _log_softmax_backward(xp: Any) -> Callable[..., Any]:
    add, exp = xp.add.reduce, xp.exp

    def log_softmax_backward(dim: int) -> Callable[..., Any]:
        def call(ct: Any, y: Any) -> Any:
            gx = xp.empty(y.shape, y.dtype)
            for at in slabs(xp, y, (dim,)):
                g, c = gx[at], ct[at]
                exp(y[at], out=g)
                g *= _total(add, c, dim)
                xp.subtract(c, g, out=g)
            return gx

        return call

    return log_softmax_backward
