"""The functions that kernels compute as arithmetic, each declared once.

A function is declared with the error that it may have: the largest distance from the
true value in ulp, over all arguments, results below the normal range included (where it
is counted in multiples of the smallest number). Signed zeros, infinities and NaN are
those of IEEE 754. The polynomials are minimax ones, found by Remez' algorithm for the
function and interval that is said beside them; both precisions share one way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from dovetail.codegen.formats import FORMATS
from dovetail.codegen.values import Term, above, below, constant, fma


class Function(NamedTuple):
    """A function of the mathematics.

    Attributes:
        ulp: the largest error, by dtype.
        make: the arithmetic that computes it.
        inputs: how many values it is of.
        of_one: whether the error is counted in ulp of 1, the largest result, instead of
            in those of each result.
    """

    ulp: dict[str, float]
    make: Callable[..., Term]
    of_one: bool = False
    inputs: int = 1


FUNCTIONS: Final[dict[str, Function]] = {}


def function(
    of_one: bool = False, inputs: int = 1, **ulp: float
) -> Callable[[Any], Any]:
    """Declare a function with its largest error in each format."""

    def declare(make: Callable[..., Term]) -> Callable[..., Term]:
        name = make.__name__

        def made(*given: Term) -> Term:
            return make(FORMATS[given[0].dtype], *given)

        FUNCTIONS[name] = Function(ulp, made, of_one, inputs)
        return make

    return declare


def polynomial(x: Term, coefficients: Sequence[float]) -> Term:
    """c0 + c1 x + c2 x² + …: even and odd powers apart, in half as many steps."""
    if len(coefficients) < 4:
        return _horner(x, coefficients)
    square = x * x
    even, odd = coefficients[::2], coefficients[1::2]
    return fma(_horner(square, odd), x, _horner(square, even))


def _horner(x: Term, coefficients: Sequence[float]) -> Term:
    *rest, last, highest = coefficients
    y = fma(constant(highest, x.dtype), x, last)
    for c in reversed(rest):
        y = fma(y, x, c)
    return y


def within(x: Term, limits: tuple[float, float]) -> Term:
    """`x`, or the limit that it is beyond; NaN stays."""
    return below(above(x, limits[0]), limits[1])
