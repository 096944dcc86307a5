"""Elementwise kernels that choose: a few calls of the library instead of one an op.

What few elements need is looked for, and done where some do, unless the host would have
to wait for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import FLOAT, HALF, DType
from dovetail.xp.kernels import on_device, undispatched
from dovetail.xp.orders import elementwise

_PLAIN: Final[dict[str, Any]] = {"broadcasts": True, "checks": True}
_WIDE: Final = FLOAT - HALF
Maker = Callable[[Any], Callable[..., Any]]
_MAKERS: Final[dict[str, tuple[Maker, frozenset[DType]]]] = {}


def _kernel(op: str, dtypes: frozenset[DType]) -> Callable[[Maker], Maker]:
    """Note what makes the kernel of an op for a library."""

    def note(make: Maker) -> Maker:
        _MAKERS[op] = make, dtypes
        return make

    return note


def install(table: KernelTable, xp: Any) -> None:
    """Add these kernels to a table."""
    for op, (make, dtypes) in _MAKERS.items():
        table.add(op, elementwise(xp, make(xp)), dtypes=dtypes, **_PLAIN)
    table.add("float_parts", _parts(xp), dtypes=_WIDE, checks=True)


def _any(xp: Any, flags: Any) -> bool:
    """Whether some hold, as far as that may be asked."""
    return on_device(xp) or bool(flags.any())


@_kernel("hardsigmoid", _WIDE)
def _hardsigmoid(xp: Any) -> Callable[..., Any]:
    return lambda a: (a + 3).clip(0, 6) * (1 / 6)


@_kernel("prelu", _WIDE)
def _prelu(xp: Any) -> Callable[..., Any]:
    where = undispatched(xp.where)
    return lambda a, weight: where(a > 0, a, a * weight)


def _parts(xp: Any) -> Any:
    def kernel(a: Any) -> tuple[Any, Any]:
        mantissa, exponent = xp.frexp(a)
        plain = xp.isfinite(a)  # of what else, libraries say what they like
        if _any(xp, ~plain):
            exponent = xp.where(plain, exponent, 0)
        return mantissa, exponent.astype("int32", copy=False)

    return kernel


@_kernel("sinc", _WIDE)
def _sinc(xp: Any) -> Callable[..., Any]:
    where = undispatched(xp.where)

    def kernel(a: Any) -> Any:
        turn = a - xp.rint(a * 0.5) * 2
        y = xp.sin(turn * math.pi) / (a * math.pi)
        zero = a == 0
        return where(zero, 1, y) if _any(xp, zero) else y

    return kernel


@_kernel("spherical_bessel_j0", _WIDE)
def _spherical(xp: Any) -> Callable[..., Any]:
    where = undispatched(xp.where)

    def kernel(a: Any) -> Any:
        y = xp.sin(a) / a
        if not _any(xp, xp.isnan(y)):
            return y
        return where(a == 0, 1, where(xp.isinf(a), 0, y))

    return kernel


@_kernel("xlogy", _WIDE)
def _xlogy(xp: Any) -> Callable[..., Any]:
    where = undispatched(xp.where)

    def kernel(a: Any, b: Any) -> Any:
        y = a * xp.log(b)
        zero = a == 0
        return where(zero & ~xp.isnan(b), 0, y) if _any(xp, zero) else y

    return kernel
