"""Functions as arithmetic: what a kernel computes where an op says `exp` or `tanh`.

Each is declared once, with the error it may have: the largest distance from the true
value in ulp, over all arguments, results below the normal range included (where it is
counted in multiples of the smallest number). Signed zeros, infinities and NaN are those
of IEEE 754. The polynomials are minimax ones, found by Remez' algorithm for the
function and interval that is said beside them; both precisions share one way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from dovetail.codegen.formats import FORMATS, Format, scale, square_error
from dovetail.codegen.values import (
    Term,
    above,
    apply,
    below,
    bits,
    choose,
    constant,
    equal,
    fma,
)


class Function(NamedTuple):
    """A function of the mathematics.

    Attributes:
        ulp: the largest error, by dtype.
        make: the arithmetic that computes it.
        of_one: whether the error is counted in ulp of 1, the largest result, instead of
            in those of each result.
    """

    ulp: dict[str, float]
    make: Callable[..., Term]
    of_one: bool = False


FUNCTIONS: Final[dict[str, Function]] = {}


def function(of_one: bool = False, **ulp: float) -> Callable[[Any], Any]:
    """Declare a function with its largest error in each format."""

    def declare(make: Callable[[Format, Term], Term]) -> Callable[[Format, Term], Term]:
        name = make.__name__

        def made(x: Term) -> Term:
            return make(FORMATS[x.dtype], x)

        FUNCTIONS[name] = Function(ulp, made, of_one)
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


# ---- exponentials

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


def _within(x: Term, limits: tuple[float, float]) -> Term:
    return below(above(x, limits[0]), limits[1])


def _reduced(f: Format, x: Term, low: Any = None) -> tuple[Term, Term]:
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
    e, n = _reduced(f, _within(x, _EXP_RANGE[f.dtype]))
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


@function(float32=1.0, float64=1.0)
def exp2(f: Format, x: Term) -> Term:
    """2 to the power of x."""
    near = _within(x, _EXP2_RANGE[f.dtype])
    n = (near + f.round) - f.round
    part = near - n
    return scale(fma(part, polynomial(part, _EXP2[f.dtype]), 1.0), n)


@function(float32=1.5, float64=2.0)
def expm1(f: Format, x: Term) -> Term:
    """exp(x) - 1 = 2 (2**(n-1) expm1(r) + (2**(n-1) - 1/2)), no step overflowing."""
    e, n = _reduced(f, _within(x, _EXPM1_RANGE[f.dtype]))
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


def _parts(f: Format, x: Term) -> tuple[Term, Term]:
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


@function(float32=1.0, float64=1.0)
def log(f: Format, x: Term) -> Term:
    """The natural logarithm."""
    lift = f.mantissa + 2
    small = x < 2.0 ** (1 - f.bias)
    k, m = _parts(f, choose(small, x * 2.0**lift, x))
    k = choose(small, k - float(lift), k)
    m = m - 1.0
    half, tail = _log_tail(f, m)
    y = k * f.ln2_high - ((half - (tail + k * f.ln2_low)) - m)
    y = choose(x < math.inf, y, x)  # infinity and NaN stay
    y = choose(x < 0.0, math.nan, y)
    return choose(equal(x, 0.0), -math.inf, y)


@function(float32=2.25, float64=2.25)
def log1p(f: Format, x: Term) -> Term:
    """log(1 + x): of u = 1 + x rounded, and what rounding lost, over u."""
    u = x + 1.0
    k, m = _parts(f, u)
    whole = equal(k, 0.0)
    lost = choose(k > 0.0, 1.0 - (u - x), x - (u - 1.0)) / u
    m = choose(whole, x, m - 1.0)
    half, tail = _log_tail(f, m)
    y = k * f.ln2_high - ((half - (tail + (k * f.ln2_low + lost))) - m)
    y = choose(whole, m - (half - tail), y)
    y = choose(x < math.inf, y, x)
    y = choose(x < -1.0, math.nan, y)
    return choose(equal(x, -1.0), -math.inf, y)


# ---- the error function

# erf(x) / x - 1 in x², for |x| <= 0.65.
_ERF: Final = {
    "float32": (
        0.1283791667970070538, -0.3761263387739663087, 0.11283653609906216165,
        -0.026852211307869748643, 0.0051596209250485374362, -0.00071558996678312458478,
    ),
    "float64": (
        0.1283791670955125739, -0.37612638903183752442, 0.11283791670955123316,
        -0.026866170645130186596, 0.0052239776254179682227, -0.00085483270201975331718,
        0.00012055332704377859058, -0.000014925634760434867948,
        1.6461527926080333459e-6, -1.6351226151789536875e-7, 1.4574426897209232989e-8,
        -1.0124071494356751949e-9,
    ),
}  # fmt: skip
# exp(x²) erfc(x) / t in t = 1 / (1 + p x), from 0 to where erfc is 0; p follows.
_ERFC: Final = {
    "float32": (
        0.21161218406971703604, 0.21067198359579245033, 0.20515114789532784051,
        0.12215380272327319902, 0.27216250688927983072, -0.2270889759335981813,
        0.43030694820198996187, -0.28628698734230399475, 0.061317418308169,
    ),
    "float64": (
        0.17630924485424612071, 0.17630924516979996614, 0.16770038492727547085,
        0.15048289580589253747, 0.12591446613827224595, 0.096553468684399386184,
        0.065576653945414371721, 0.038729422400099265266, 0.0093457790272988977505,
        0.021240804967627981023, -0.06716842882390314888, 0.13378251105138500673,
        -0.25196531220871641431, 0.32488107691188809238, -0.26308770548936445544,
        0.032156255024526333024, 0.27549810448968337884, -0.44961247053342601608,
        0.39062971658258621779, -0.21374762597528197045, 0.074136960861789230733,
        -0.015033488589530068021, 0.0013680407780375788663,
    ),
}  # fmt: skip
_ERFC_STEEP: Final = {"float32": 0.375, "float64": 0.3125}
_ERFC_ZERO: Final = {"float32": 10.2, "float64": 27.3}
_NEAR: Final = 0.65


def _erf_near(f: Format, x: Term) -> Term:
    """erf(x) for |x| <= 0.65."""
    return fma(x, polynomial(x * x, _ERF[f.dtype]), x)


def _erfc_far(f: Format, size: Term) -> Term:
    """erfc(x) for x >= 0.64, exp(-x²) being taken of x² in two parts."""
    a = below(size, _ERFC_ZERO[f.dtype])
    e, n = _reduced(f, -(a * a), -square_error(a))
    t = 1.0 / fma(a, _ERFC_STEEP[f.dtype], 1.0)
    return scale((e + 1.0) * (t * polynomial(t, _ERFC[f.dtype])), n)


@function(float32=2.0, float64=2.0)
def erf(f: Format, x: Term) -> Term:
    """2/sqrt(pi) times the integral of exp(-t²) from 0 to x."""
    size = f.size(x)
    far = f.with_sign(1.0 - _erfc_far(f, size), x)
    return choose(size < _NEAR, _erf_near(f, x), far)


@function(float32=4.0, float64=4.0)
def erfc(f: Format, x: Term) -> Term:
    """1 - erf(x), to its last digits where it is next to 0."""
    size = f.size(x)
    far = _erfc_far(f, size)
    far = choose(x < 0.0, 2.0 - far, far)
    return choose(size < _NEAR, 1.0 - _erf_near(f, x), far)


# (Φ(x) - 1/2) / x in u = 2 (x / c)² - 1 for |x| <= c: of even degree, so that it is
# too large at c, and by 2e-8 at first: at c it is 1 in the format, at -c below 0.
_CDF: Final = (
    0.131535790659, -0.0656223935054, 0.0486907144083, -0.0393061594112,
    0.0321143968433, -0.0256423229187, 0.019472341419, -0.0137747914932,
    0.0094456068947, -0.00649055007883, 0.0035229035588, -0.00116735846988,
    0.000838459895019, -0.000955862901459, 0.000362498465303,
)  # fmt: skip
_CDF_ALIVE: Final = 5.375


@function(of_one=True, float32=2.5, float64=1.5)
def normal_cdf(f: Format, x: Term) -> Term:
    """Φ(x) = erfc(-x / sqrt(2)) / 2; in float32 to the last place of 1 alone.

    A product with x, such as gelu, has no more digits, and takes half the time.
    """
    if f.dtype != "float32":
        twice: Term = erfc(f, x * -math.sqrt(0.5))
        return twice * 0.5
    near = _within(x, (-_CDF_ALIVE, _CDF_ALIVE))
    u = fma(near * near, 2 / _CDF_ALIVE**2, -1.0)
    return above(fma(near, polynomial(u, _CDF), 0.5), 0.0)


# ---- signs


def copysign(x: Term, sign: Term) -> Term:
    """The size of one value with the sign of another."""
    return FORMATS[x.dtype].with_sign(x, sign)


def absolute(x: Term) -> Term:
    """|x|; integers wrap."""
    if x.dtype in FORMATS:
        return FORMATS[x.dtype].size(x)
    return choose(x < 0, apply("sub", 0, x), x)
