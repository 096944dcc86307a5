"""Powers as arithmetic: 2 to the power of a logarithm times the exponent.

A product of an exponent and a logarithm may be as large as the largest exponent of the
format, and what matters are its digits behind the point. So a logarithm needs more
digits than the format has: of float32 it is computed in float64, of float64 in pairs of
numbers.
"""

from __future__ import annotations

import math
from typing import Final

from dovetail.codegen.exponential import exp2_of_parts, parts
from dovetail.codegen.formats import FORMATS, Format, product_error
from dovetail.codegen.functions import function, polynomial, within
from dovetail.codegen.values import (
    Term,
    apply,
    bits,
    cast,
    choose,
    compare,
    equal,
    fma,
    like,
    unary,
)

# log2((1 + s) / (1 - s)) / s in s², for (1 + s) / (1 - s) from sqrt(1/2) to sqrt(2).
_LOG2: Final = (
    2.8853900817778499823, 0.96179669411338978797, 0.57707794234677746848,
    0.41220925443217683696, 0.31990560620925951543, 0.28290153206165804361,
)  # fmt: skip
# (atanh(s) / s - 1 - s²/3) / s⁴ in s², for the same.
_TAIL: Final = (
    0.19999999999999988746, 0.14285714285722555586, 0.11111111108768265478,
    0.09090909435154484122, 0.076922784356596939709, 0.066681587035147632265,
    0.058374093834006841406, 0.059945053866621966865,
)  # fmt: skip
_THIRD: Final = (1 / 3, 1.850371707708594e-17)  # 1/3, and what that was rounded by
_PER_LN2: Final = (2 / math.log(2), 4.0710547481862066e-17)  # 2 / ln 2, likewise
_LARGEST: Final = 1e300  # exponents: times 0 they are 0
# Exponents of 2 of which powers are 0 and infinite.
_RANGE: Final = {"float32": (-160.0, 130.0), "float64": (-1100.0, 1030.0)}


@function(inputs=2, float32=1.0, float64=1.5)
def float_pow(f: Format, x: Term, y: Term) -> Term:
    """x to the power of y; at special points as IEEE 754 has it."""
    size = f.size(x)
    power = _of_single(size, y) if f.dtype == "float32" else _of_double(f, size, y)
    power = choose(compare("ne", x, x), x, power)
    whole = equal(unary("floor", y), y)
    half = y * 0.5
    odd = apply("and", whole, compare("ne", unary("floor", half), half))
    sign = choose(odd, bits(x, f.integer) & f.sign, 0)
    power = bits(bits(power, f.integer) ^ sign, f.dtype)
    between = apply("and", x < 0.0, x > -math.inf)
    broken = apply("and", between, compare("ne", unary("floor", y), y))
    power = choose(broken, math.nan, power)
    return choose(apply("or", equal(y, 0.0), equal(x, 1.0)), 1.0, power)


def _of_single(size: Term, y: Term) -> Term:
    """|x| to the power of y, in float64."""
    f, x = FORMATS["float64"], cast(size, "float64")
    k, m = parts(f, x)
    s = (m - 1.0) / (m + 1.0)
    log = _at_limits(x, fma(s, polynomial(s * s, _LOG2), k))
    product = within(cast(y, "float64"), (-_LARGEST, _LARGEST)) * log
    n, part = _rounded(f, within(product, _RANGE["float32"]))
    return cast(exp2_of_parts(part, n, "float32"), "float32")


def _of_double(f: Format, size: Term, y: Term) -> Term:
    """|x| to the power of y, in pairs of numbers."""
    log, rest = _log2_in_pairs(f, size)
    log = _at_limits(size, log)
    exponent = within(y, (-_LARGEST, _LARGEST))
    product = exponent * log
    error = fma(exponent, rest, product_error(exponent, log))
    kept = within(product, _RANGE[f.dtype])
    n, part = _rounded(f, kept)
    part = choose(equal(kept, product), part + error, part)
    return exp2_of_parts(part, n, "float64")


def _at_limits(x: Term, log: Term) -> Term:
    """The logarithm of 0, infinity and NaN, where bits say nothing of it."""
    log = choose(x < math.inf, log, x)
    return choose(equal(x, 0.0), -math.inf, log)


def _rounded(f: Format, x: Term) -> tuple[Term, Term]:
    """The nearest whole number, and what is left."""
    n = (x + f.round) - f.round
    return n, x - n


def _log2_in_pairs(f: Format, x: Term) -> tuple[Term, Term]:
    """log2(x) = k + 2 / ln 2 atanh(s), and what that was rounded by."""
    small = x < 2.0 ** (1 - f.bias)
    k, m = parts(f, choose(small, x * 2.0**54, x))
    k = choose(small, k - 54.0, k)
    s, of_s = _quotient(m - 1.0, m)
    square = s * s
    of_square = fma(s * 2.0, of_s, product_error(s, s))
    third = square * _THIRD[0]
    of_third = product_error(square, like(_THIRD[0], square))
    of_third = fma(of_square, _THIRD[0], fma(square, _THIRD[1], of_third))
    tail = square * square * polynomial(square, _TAIL)
    u = third + tail
    of_u = ((third - u) + tail) + of_third
    more = s * u
    of_more = fma(of_s, u, fma(s, of_u, product_error(s, u)))
    whole = s + more
    rest = (((s - whole) + more) + of_more) + of_s
    log = whole * _PER_LN2[0]
    error = product_error(whole, like(_PER_LN2[0], whole))
    error = fma(rest, _PER_LN2[0], fma(whole, _PER_LN2[1], error))
    total = k + log
    return total, ((k - total) + log) + error


def _quotient(a: Term, m: Term) -> tuple[Term, Term]:
    """a / (m + 1), and what that was rounded by."""
    below = m + 1.0
    lost = m - (below - 1.0)
    s = a / below
    left = (a - s * below) - product_error(s, below)
    return s, (left - s * lost) / below
