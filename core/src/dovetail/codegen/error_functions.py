"""The error function, its complement and the normal distribution, as arithmetic."""

from __future__ import annotations

import math
from typing import Final

from dovetail.codegen.exponential import reduced
from dovetail.codegen.formats import Format, product_error, scale
from dovetail.codegen.functions import function, polynomial, within
from dovetail.codegen.values import Term, above, below, choose, fma

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
# (1 + 2 x) exp(x²) erfc(x) in (x - c) / (x + c), from 0.64 to where erfc is 0.
_ERFC: Final = {
    "float32": (
        1.2530080575763978015, -0.13562107747506972596, -0.047562197004088245422,
        0.12964380973090506481, -0.11927598253780481465, 0.068325457631811322269,
        -0.023750108286818032663, 0.0024408786446797361867, 0.0018120538739810791155,
        -0.00059616266307564319653,
    ),
    "float64": (
        1.232995118625552509, -0.13962111684056249772, 0.015379652102620059659,
        0.068097054254690196644, -0.10103906603632653665, 0.093732834998462325285,
        -0.066330365811604121504, 0.037167515535148405184, -0.01619773406658021789,
        0.0050319700046184092433, -0.00075777321482020188174,
        -0.00019925687938212036203, 0.00015062128922642517365,
        -0.00002439839031145861981, -0.000011220733152342358033,
        5.7073060352353060629e-6, 2.9102679166152765009e-7, -8.2071900724866400269e-7,
        7.8340282774676066492e-8, 1.0426650851333793079e-7, -2.0717263329939523229e-8,
        -1.001299244439669555e-8, 2.7563792999416278789e-9,
    ),
}  # fmt: skip
_ERFC_CENTRE: Final = {"float32": 3.0, "float64": 4.0}
_ERFC_ZERO: Final = {"float32": 10.2, "float64": 27.3}
_NEAR: Final = 0.65


def _erf_near(f: Format, x: Term) -> Term:
    """erf(x) for |x| <= 0.65."""
    return fma(x, polynomial(x * x, _ERF[f.dtype]), x)


def _erfc_far(f: Format, size: Term) -> Term:
    """erfc(x) for x >= 0.64, exp(-x²) being taken of x² in two parts."""
    a = below(size, _ERFC_ZERO[f.dtype])
    e, n = reduced(f, -(a * a), -product_error(a, a))
    centre = _ERFC_CENTRE[f.dtype]
    factor = polynomial((a - centre) / (a + centre), _ERFC[f.dtype])
    return scale((e + 1.0) * (factor / fma(a, 2.0, 1.0)), n)


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
    near = within(x, (-_CDF_ALIVE, _CDF_ALIVE))
    u = fma(near * near, 2 / _CDF_ALIVE**2, -1.0)
    return above(fma(near, polynomial(u, _CDF), 0.5), 0.0)
