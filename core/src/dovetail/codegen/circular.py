"""Sines and cosines as arithmetic, of arguments of any size.

Arguments are counted in quarters of a turn by products with 2 / pi to so many digits
that what is left is right to its last place, even next to a multiple (Payne & Hanek
1983). Of float32 that is done in float64, in which products of 24 and 27 bits are
exact; of float64 in pairs of numbers: a product, and what it was rounded by.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Final

from dovetail.codegen.formats import Format, product_error, sum_and_error
from dovetail.codegen.functions import function, polynomial
from dovetail.codegen.values import (
    Term,
    above,
    bits,
    cast,
    choose,
    constant,
    entry,
    equal,
    fma,
    like,
    rarely,
    unary,
)

# ---- of float32

# 27 bits of 2 / pi, the next 27, and all that follow; each row begins 27 bits later.
# What is cut off in front is a multiple of four quarters of arguments from there on.
_DIGITS: Final = (
    (0.6366197690367699, 3.330811459978378e-09, 1.6153797880892852e-17),
    (3.330811459978378e-09, 1.615379759713065e-17, 2.8376220177865265e-25),
    (1.615379759713065e-17, 2.83762200841452e-25, 9.372006544409767e-34),
    (2.83762200841452e-25, 9.372006385408637e-34, 1.590011303568902e-41),
)
_MANY: Final = 2.0**20  # from here on quarters are too many for float32 to count
_FROM: Final = (2.0**52, 2.0**79, 2.0**106)  # arguments from which the next row serves

# (sin(r) - r) / r³ and (cos(r) - 1 + r²/2) / r⁴ in r², for |r| <= pi / 4.
_SIN: Final = {
    "float32": (
        -0.16666653471201248003, 0.0083320834073819877376, -0.00019504308808189503824,
    ),
    "float64": (
        -0.16666666666666632053, 0.0083333333333224193143, -0.00019841269829812182253,
        2.7557313693441252067e-6, -2.5050758358585602357e-8, 1.5896810127604511268e-10,
    ),
}  # fmt: skip
_COS: Final = {
    "float32": (
        0.041666644393253129832, -0.0013887243226873923678, 0.000024423925412824289052,
    ),
    "float64": (
        0.041666666666666599517, -0.0013888888888874131469, 0.00002480158728948710447,
        -2.7557314353808644457e-7, 2.0875723480723759183e-9,
        -1.1359658884870744305e-11,
    ),
}  # fmt: skip
# Of what size sin(x) is x: below, products with the digits leave the format.
_TINY: Final = 2.0**-30


def _quarters(f: Format, size: Term) -> tuple[Term, Term, Term]:
    """(n, r, e) where size = n pi/2 + r + e with |r| <= pi / 4; n modulo 4, an integer.

    e is what r was rounded by; of float32, r is near enough.
    """
    if f.dtype == "float64":
        return _quarters_in_pairs(f, size)
    usual, large = _quarters_of_few_turns(f, size), _quarters_of_many_turns(f, size)
    n, r = rarely(size >= _MANY, large, usual)
    return f.as_integer(n), r, constant(0.0, f.dtype)


def _quarters_of_few_turns(f: Format, size: Term) -> tuple[Term, Term]:
    """(n, r) as `_quarters` has them: the first product is exact."""
    wide = cast(size, "float64")
    head, middle, last = _DIGITS[0]
    whole, rest = wide * head, wide * (middle + last)
    n = unary("floor", whole + rest + 0.5)
    return cast(n, f.dtype), cast(((whole - n) + rest) * (math.pi / 2), f.dtype)


def _quarters_of_many_turns(f: Format, size: Term) -> tuple[Term, Term]:
    """The same of any number, n without whole turns."""
    wide = cast(size, "float64")
    head, middle, rest = (_digits(wide, place) for place in range(3))
    whole = _within_turn(wide * head) + _within_turn(wide * middle)
    rest = wide * rest
    n = unary("floor", whole + rest + 0.5)
    return cast(n, f.dtype), cast(((whole - n) + rest) * (math.pi / 2), f.dtype)


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


# ---- of float64

# Each row of digits begins 32 bits later than the one before. What is cut off in front
# is a multiple of four quarters of arguments from 2**(54 + 32 row) on.
_STEP: Final = 5  # as a power of two
_BEFORE: Final = 54
_ROWS: Final = ((1023 - _BEFORE) >> _STEP) + 1
_PARTS: Final = 4  # of 53 bits each
_PI_HALVES_REST: Final = 6.123233995736766e-17  # pi / 2 less its nearest number


def _pi(places: int) -> int:
    """pi 2**places, as an integer (Machin 1706)."""

    def arctangent_of_inverse(n: int) -> int:
        term = total = (1 << places) // n
        k = 1
        while term:
            term //= -n * n
            k += 2
            total += term // k
        return total

    return 16 * arctangent_of_inverse(5) - 4 * arctangent_of_inverse(239)


@cache
def _parts_of_digits() -> tuple[tuple[float, ...], ...]:
    """2 / pi in parts: of each part, the number that it is in every row."""
    places = (_ROWS << _STEP) + 64 * _PARTS
    digits = (2 << 2 * places + 64) // _pi(places + 64)
    rows = []
    for row in range(_ROWS):
        rest = Fraction((digits << (row << _STEP)) % (1 << places), 1 << places)
        parts: list[float] = []
        for _ in range(_PARTS):
            parts.append(float(rest))
            rest -= Fraction(parts[-1])
        rows.append(parts)
    return tuple(zip(*rows, strict=True))


def _quarters_in_pairs(f: Format, size: Term) -> tuple[Term, Term, Term]:
    """`_quarters` of float64: four products, those of the first three in pairs."""
    exponent = (bits(size, f.integer) >> f.mantissa) - f.bias
    row = above((exponent - _BEFORE) >> _STEP, 0)
    x = bits(bits(size, f.integer) - (row << f.mantissa + _STEP), f.dtype)
    parts = [entry(numbers, row, f.dtype) for numbers in _parts_of_digits()]
    a, b, c, d = (x * part for part in parts)
    of_a, of_b, of_c = (product_error(x, part) for part in parts[:3])
    head = _within_turn(a)
    middle, lost = sum_and_error(_within_turn(of_a), _within_turn(b))
    low, lost_low = sum_and_error(of_b, c)
    n = unary("floor", head + middle + 0.5)
    near, lost_near = sum_and_error(head - n, middle)
    near, rest = sum_and_error(near, low)
    rest = rest + (lost_near + (lost + (lost_low + (of_c + d))))
    quarter = near + rest
    rest = (near - quarter) + rest
    r = quarter * (math.pi / 2)
    error = product_error(quarter, like(math.pi / 2, quarter))
    error = fma(rest, math.pi / 2, fma(quarter, _PI_HALVES_REST, error))
    return f.as_integer(n), r, choose(size < math.inf, error, math.nan)


# ---- of both


def _of_quarter(f: Format, n: Term, r: Term, error: Term) -> Term:
    """sin(n pi/2 + r + error)."""
    square = r * r
    half = square * 0.5
    of_sine = fma(square * r, polynomial(square, _SIN[f.dtype]), error)
    sine = r + of_sine
    of_cosine = square * square * polynomial(square, _COS[f.dtype])
    first = 1.0 - half
    lost = (1.0 - first) - half
    cosine = first + (lost + fma(-r, error, of_cosine))
    y = choose(equal(n & 1, 0), sine, cosine)
    return bits(bits(y, f.integer) ^ ((n & 2) << (-f.sign).bit_length() - 2), f.dtype)


@function(float32=2.0, float64=1.5)
def sin(f: Format, x: Term) -> Term:
    """The sine; of infinity NaN."""
    size = f.size(x)
    y = choose(size < _TINY, size, _of_quarter(f, *_quarters(f, size)))
    return bits(bits(y, f.integer) ^ (bits(x, f.integer) & f.sign), f.dtype)


@function(float32=2.0, float64=1.5)
def cos(f: Format, x: Term) -> Term:
    """The cosine; of infinity NaN."""
    n, r, error = _quarters(f, f.size(x))
    return _of_quarter(f, n + 1, r, error)
