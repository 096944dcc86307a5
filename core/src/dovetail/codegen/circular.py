"""Sines and cosines as arithmetic, of float32 arguments of any size.

Arguments are counted in quarters of a turn by products with 2 / pi to so many digits
that what is left is right to its last place, even next to a multiple (Payne & Hanek
1983): in float64, in which products of 24 and 27 bits are exact.
"""

from __future__ import annotations

import math
from typing import Final

from dovetail.codegen.formats import Format
from dovetail.codegen.functions import function, polynomial
from dovetail.codegen.values import Term, bits, cast, choose, equal, fma, like, unary

# 27 bits of 2 / pi, the next 27, and all that follow; each row begins 27 bits later.
# What is cut off in front is a multiple of four quarters of arguments from there on.
_DIGITS: Final = (
    (0.6366197690367699, 3.330811459978378e-09, 1.6153797880892852e-17),
    (3.330811459978378e-09, 1.615379759713065e-17, 2.8376220177865265e-25),
    (1.615379759713065e-17, 2.83762200841452e-25, 9.372006544409767e-34),
    (2.83762200841452e-25, 9.372006385408637e-34, 1.590011303568902e-41),
)
_FROM: Final = (2.0**52, 2.0**79, 2.0**106)  # arguments from which the next row serves

# (sin(r) - r) / r³ and (cos(r) - 1 + r²/2) / r⁴ in r², for |r| <= pi / 4.
_SIN: Final = (
    -0.16666653471201248003, 0.0083320834073819877376, -0.00019504308808189503824,
)  # fmt: skip
_COS: Final = (
    0.041666644393253129832, -0.0013887243226873923678, 0.000024423925412824289052,
)  # fmt: skip


def _quarters(f: Format, size: Term) -> tuple[Term, Term]:
    """(n, r) where size = n pi/2 + r with |r| <= pi / 4; n modulo 4, as an integer."""
    wide = cast(size, "float64")
    head, middle, rest = (_digits(wide, place) for place in range(3))
    whole = _within_turn(wide * head) + _within_turn(wide * middle)
    rest = wide * rest
    n = unary("floor", whole + rest + 0.5)
    r = cast(((whole - n) + rest) * (math.pi / 2), f.dtype)
    return f.as_integer(cast(n, f.dtype)), r


def _digits(wide: Term, place: int) -> Term:
    """The digits of 2 / pi that matter to an argument."""
    chosen = like(_DIGITS[-1][place], wide)
    for row, limit in reversed(list(zip(_DIGITS, _FROM, strict=False))):
        chosen = choose(wide < limit, row[place], chosen)
    return chosen


def _within_turn(quarters: Term) -> Term:
    """A number of quarters less whole turns, exactly."""
    turns = unary("floor", fma(quarters, 0.25, 0.5))
    return fma(turns, -4.0, quarters)


def _of_quarter(f: Format, n: Term, r: Term) -> Term:
    """sin(n pi/2 + r)."""
    square = r * r
    sine = fma(square * r, polynomial(square, _SIN), r)
    cosine = fma(square * square, polynomial(square, _COS), fma(square, -0.5, 1.0))
    y = choose(equal(n & 1, 0), sine, cosine)
    return bits(bits(y, f.integer) ^ ((n & 2) << (-f.sign).bit_length() - 2), f.dtype)


@function(float32=2.0)
def sin(f: Format, x: Term) -> Term:
    """The sine; of infinity NaN."""
    n, r = _quarters(f, f.size(x))
    y = _of_quarter(f, n, r)
    return bits(bits(y, f.integer) ^ (bits(x, f.integer) & f.sign), f.dtype)


@function(float32=2.0)
def cos(f: Format, x: Term) -> Term:
    """The cosine; of infinity NaN."""
    n, r = _quarters(f, f.size(x))
    return _of_quarter(f, n + 1, r)
