"""Exponential linear units and mish, in the steps of their bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import FLOAT, HALF

# Klambauer et al. 2017, equation 14
SELU_ALPHA: Final = 1.6732632423543772
SELU_SCALE: Final = 1.0507009873554805

Kernel = Callable[..., Any]


def install(table: KernelTable, xp: Any) -> None:
    """Add them to a table."""
    general = _scaled(xp)
    kernels: dict[str, Kernel] = {
        "scaled_elu": general,
        "elu": lambda a, alpha: general(a, alpha, 1.0, 1.0),
        "selu": lambda a: general(a, SELU_ALPHA, SELU_SCALE, 1.0),
        "celu": lambda a, alpha: general(a, alpha, 1.0, 1 / alpha),
        "mish": _mish(xp),
    }
    for name, kernel in kernels.items():
        table.add(name, kernel, dtypes=FLOAT - HALF, broadcasts=True, checks=True)


def _scaled(xp: Any) -> Kernel:
    minimum, expm1, where = xp.minimum, xp.expm1, xp.where

    def scaled_elu(a: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
        below = minimum(a, 0)
        if input_scale != 1:
            below = below * input_scale
        below = expm1(below)
        if alpha * scale != 1:
            below = below * (alpha * scale)
        return where(a > 0, a if scale == 1 else a * scale, below)

    return scaled_elu


def _mish(xp: Any) -> Kernel:
    def mish(a: Any) -> Any:
        """The input times tanh of its softplus."""
        y = xp.log1p(xp.exp(-xp.abs(a)))
        y += xp.maximum(a, 0)
        return a * xp.tanh(y)

    return mish


__all__ = ["SELU_ALPHA", "SELU_SCALE", "install"]
