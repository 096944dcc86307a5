"""Exponentials and logarithms, and the hyperbolic tangent, as arithmetic."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.codegen.formats import FORMATS, Format, scale
from dovetail.codegen.functions import function, polynomial, within
from dovetail.codegen.values import Term, bits, choose, constant, equal, fma

# (expm1(r) - r) / r² for |r| <= ln(2) / 2 and a little more.
_EXPM1: Final = {
    "float32": (
        0.50000000221611500939, 0.16666666814159615529, 0.041666385436565303814,
        0.0083332674120009776448, 0.0013941741712751280802, 0.00019919550572083876669,
    ),
    "float64": (
        0.49999999999999999995, 0.16666666666666672409, 0.041666666666666689366,
        0.0083333333333243012201, 0.0013888888888870715311, 0.00019841269881046249708,
        0.000024801587355821973993, 2.7557247729907751489e-6, 2.755724494365096845e-7,
        2.5108318764425888089e-8, 2.0924209284297660908e-9,
    ),
}  # fmt: skip
# Where exp is 0 and infinite, where expm1 is -1 and infinite, and of what size
# expm1(x) is x.
_EXP_RANGE: Final = {"float32": (-104.0, 89.0), "float64": (-746.0, 710.0)}
_EXPM1_RANGE: Final = {"float32": (-20.0, 88.8), "float64": (-40.0, 709.9)}
_EXPM1_TINY: Final = {"float32": 2.0**-30, "float64": 2.0**-60}


def reduced(f: Format, x: Term, low: Any = None) -> tuple[Term, Term]:
    """(expm1(r), n) where x + low = n ln(2) + r with |r| <= ln(2) / 2."""
    shifted = fma(x, 1 / math.log(2), f.round)
    n = shifted - f.round
    r = fma(n, -f.ln2_low, fma(n, -f.ln2_high, x))
    if low is not None:
        r = r + low
    tail = polynomial(r, _EXPM1[f.dtype])
    return fma(r * r, tail, r), n


@function(float32=1.0, float64=1.0)
def exp(f: Format, x: Term) -> Term:
    """e to the power of x."""
    e, n = reduced(f, within(x, _EXP_RANGE[f.dtype]))
    return scale(e + 1.0, n)


# (2**f - 1) / f for |f| <= 1/2.
_EXP2: Final = {
    "float32": (
        0.69314718054113012514, 0.24022651075503874888, 0.055504109640555954164,
        0.0096180369123705887294, 0.0013333429501313670304, 0.00015467119880041909384,
        0.000015315257956299497381,
    ),
    "float64": (
        0.69314718055994530836, 0.24022650695910071206, 0.055504108664821698549,
        0.0096181291076284952157, 0.0013333558146390413283, 0.00015403530393341023285,
        0.000015252733856260775336, 1.3215486833122352834e-6, 1.0178051199267810276e-7,
        7.054888227384798659e-9, 4.4566752312726216392e-10, 2.574183900776905615e-11,
    ),
}  # fmt: skip
# Where exp2 is 0 and infinite.
_EXP2_RANGE: Final = {"float32": (-151.0, 129.0), "float64": (-1076.0, 1025.0)}


@function(float32=1.5, float64=1.5)
def exp2(f: Format, x: Term) -> Term:
    """2 to the power of x."""
    near = within(x, _EXP2_RANGE[f.dtype])
    n = (near + f.round) - f.round
    return exp2_of_parts(near - n, n, f.dtype)


def exp2_of_parts(part: Term, n: Term, precision: str) -> Term:
    """2 to the power of n + part, |part| <= 1/2, as precisely as a dtype has it."""
    return scale(fma(part, polynomial(part, _EXP2[precision]), 1.0), n)


@function(float32=1.5, float64=2.0)
def expm1(f: Format, x: Term) -> Term:
    """exp(x) - 1 = 2 (2**(n-1) expm1(r) + (2**(n-1) - 1/2)), no step overflowing."""
    e, n = reduced(f, within(x, _EXPM1_RANGE[f.dtype]))
    half = scale(constant(0.5, f.dtype), n)
    y = (half * e + (half - 0.5)) * 2.0
    return choose(f.size(x) < _EXPM1_TINY[f.dtype], x, y)


@function(float32=2.75, float64=2.75)
def tanh(f: Format, x: Term) -> Term:
    """-t / (t + 2) where t = expm1(-2 |x|)."""
    t = expm1(f, f.size(x) * -2.0)
    return f.with_sign(t / (t + 2.0), x)


# ---- logarithms

# (log((1 + s) / (1 - s)) - 2 s) / s³ in s², for s = f / (2 + f), 1 + f from
# sqrt(1/2) to sqrt(2): fdlibm's reduction (e_log.c, Sun Microsystems 1993).
_LOG: Final = {
    "float32": (
        0.66666666543550369643, 0.40000130375647701999, 0.2854988418162073359,
        0.23355303815157441435,
    ),
    "float64": (
        0.66666666666666666427, 0.40000000000001020322, 0.28571428570717511371,
        0.22222222410897932678, 0.18181793622796390731, 0.15386347793085740721,
        0.13265919310388078968, 0.13116067765086372445,
    ),
}  # fmt: skip


def parts(f: Format, x: Term) -> tuple[Term, Term]:
    """(k, m) of a normal number: x = 2**k m, m from sqrt(1/2) to sqrt(2)."""
    root = f.bits_of(math.sqrt(0.5))
    one = f.bits_of(1.0)
    moved = bits(x, f.integer) + (one - root)
    k = (moved >> f.mantissa) - f.bias
    m = bits((moved & ((1 << f.mantissa) - 1)) + root, f.dtype)
    return f.as_float(k), m


def _log_tail(f: Format, x: Term) -> tuple[Term, Term]:
    """(h, s (h + R)) with log(1 + x) = x - (h - s (h + R)), h = x²/2."""
    s = x / (x + 2.0)
    z = s * s
    half = x * x * 0.5
    return half, s * (half + z * polynomial(z, _LOG[f.dtype]))


def _log_of_parts(f: Format, k: Term, m: Term) -> Term:
    m = m - 1.0
    half, tail = _log_tail(f, m)
    return k * f.ln2_high - ((half - (tail + k * f.ln2_low)) - m)


def log_of_normal(x: Term) -> Term:
    """The natural logarithm of what is surely a normal number above 0."""
    f = FORMATS[x.dtype]
    return _log_of_parts(f, *parts(f, x))


@function(float32=1.0, float64=1.0)
def log(f: Format, x: Term) -> Term:
    """The natural logarithm."""
    lift = f.mantissa + 2
    small = x < 2.0 ** (1 - f.bias)
    k, m = parts(f, choose(small, x * 2.0**lift, x))
    y = _log_of_parts(f, choose(small, k - float(lift), k), m)
    y = choose(x < math.inf, y, x)  # infinity and NaN stay
    y = choose(x < 0.0, math.nan, y)
    return choose(equal(x, 0.0), -math.inf, y)


@function(float32=2.25, float64=2.25)
def log1p(f: Format, x: Term) -> Term:
    """log(1 + x): of u = 1 + x rounded, and what rounding lost, over u."""
    u = x + 1.0
    k, m = parts(f, u)
    whole = equal(k, 0.0)
    lost = choose(k > 0.0, 1.0 - (u - x), x - (u - 1.0)) / u
    m = choose(whole, x, m - 1.0)
    half, tail = _log_tail(f, m)
    y = k * f.ln2_high - ((half - (tail + (k * f.ln2_low + lost))) - m)
    y = choose(whole, m - (half - tail), y)
    y = choose(x < math.inf, y, x)
    y = choose(x < -1.0, math.nan, y)
    return choose(equal(x, -1.0), -math.inf, y)
