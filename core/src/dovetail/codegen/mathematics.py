"""Functions as arithmetic: what a kernel computes where an op says `exp` or `sin`."""

from __future__ import annotations

from dovetail.codegen import circular, error_functions, exponential, powers
from dovetail.codegen.formats import FORMATS
from dovetail.codegen.functions import FUNCTIONS, Function
from dovetail.codegen.values import Term, apply, choose

FAMILIES = (circular, error_functions, exponential, powers)
"""The modules that declare functions."""


def copysign(x: Term, sign: Term) -> Term:
    """The size of one value with the sign of another."""
    return FORMATS[x.dtype].with_sign(x, sign)


def absolute(x: Term) -> Term:
    """|x|; integers wrap."""
    if x.dtype in FORMATS:
        return FORMATS[x.dtype].size(x)
    return choose(x < 0, apply("sub", 0, x), x)


__all__ = ["FUNCTIONS", "Function", "absolute", "copysign"]
