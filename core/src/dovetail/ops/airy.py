"""Airy's function Ai of real numbers."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.dtypes import FLOAT
from dovetail.engine.declare import op
from dovetail.engine.exact import BY_MPMATH, each
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import cos, exp, maximum, sin, sqrt
from dovetail.ops.bounds import minimum
from dovetail.ops.chebyshev import chebyshev
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import where

# Interpolants at Chebyshev points, from values of 40 digits: of Ai from -6 to 2; beyond
# 2 of Ai without its decay, by 2^1.5 / x^1.5; below -6 of what cosine and sine are
# multiplied by, by 6^3 / |x|^3 (DLMF 9.7.5, 9.7.9).
_MIDDLE: Final = (
    0.07981034257083895, 0.13358598577835648, -0.12888154225314424,
    -0.08776265494035469, -0.11786513948317262, 0.2494019918868029,
    -0.035635245648797415, -0.12552960424978643, 0.07658320862153278,
    0.006539826099616935, -0.023099786059506074, 0.0075040528747347115,
    0.0017030155672010565, -0.001847967273977794, 0.0003517624295647609,
    0.00013635466079863891, -8.308790360342944e-05, 8.894157813861605e-06,
    5.884144160957906e-06, -2.388680332415851e-06, 1.1078940909561706e-07,
    1.625312951027347e-07, -4.7480935940319924e-08, -1.754949228512617e-10,
    3.144514394466578e-09, -6.872528750687637e-10, -3.432139716305899e-11,
    4.5120269871187276e-11, -7.505023274955363e-12, -7.320391388335262e-13,
    4.998060740578426e-13, -6.330395765884145e-14, -9.638462850616974e-15,
    4.403519218800548e-15, -4.1759243545597107e-16, -9.31695346064716e-17,
    3.1579001128543586e-17, -2.1501848242997507e-18,
)  # fmt: skip
_DECAY: Final = (
    0.9844053049171552, -0.014792784850104199, 0.0007327177465426715,
    -6.12595423417825e-05, 6.83476697557269e-06, -9.237229735403982e-07,
    1.436225340438052e-07, -2.489319422322096e-08, 4.709793440054328e-09,
    -9.583863708112733e-10, 2.0745855483677591e-10, -4.737267332192277e-11,
    1.1336099808224236e-11, -2.827706782319351e-12, 7.320712095125598e-13,
    -1.9599793911089723e-13, 5.4101162570683925e-14, -1.5356466802223836e-14,
    4.472340393300025e-15, -1.3338094674756683e-15, 4.066582046456231e-16,
    -1.265583225645289e-16, 4.015126334015871e-17, -1.2969972135960936e-17,
    4.2613499074124e-18,
)  # fmt: skip
_EVEN: Final = (
    0.9998088477395531, -0.00019041677962134863, 7.267968168417445e-07,
    -8.485426967529796e-09, 1.9144545982950886e-10, -6.778493941405162e-12,
    3.345666079656652e-13, -2.1345137724465704e-14, 1.6718079441151791e-15,
    -1.5491724858625586e-16, 1.6524273492513008e-17,
)  # fmt: skip
_ODD: Final = (
    0.06925101122700861, -0.00019199395713168297, 1.4144485007348916e-06,
    -2.4076418454371364e-08, 7.033135474188027e-10, -3.0199171290130837e-11,
    1.73483636560491e-12, -1.2527799137757002e-13, 1.0886384509119664e-14,
    -1.1026771285105438e-15, 1.2709996936013433e-16, -1.6365087007659018e-17,
    2.3195560389025733e-18, -3.5767506409927694e-19,
)  # fmt: skip
_LOW: Final = 6.0
_HIGH: Final = 2.0
_FARTHEST: Final = 1e30


def _middle(x: Tensor) -> Tensor:
    return chebyshev((x + 2) * 0.25, _MIDDLE)


def _decaying(x: Tensor) -> Tensor:
    power = x * sqrt(x)
    y = chebyshev(2 * _HIGH**1.5 / power - 1, _DECAY)
    return y * exp(power * (-2 / 3)) / (sqrt(sqrt(x)) * (2 * math.sqrt(math.pi)))


def _waving(size: Tensor) -> Tensor:
    zeta = size * sqrt(size) * (2 / 3)
    part = _LOW / size
    t = part * part * part * 2 - 1
    # Beyond the format's range the angle is unknown, and the wave small.
    angle = minimum(zeta, _FARTHEST) - math.pi / 4
    y = chebyshev(t, _EVEN) * cos(angle) + chebyshev(t, _ODD) / zeta * sin(angle)
    return y / (sqrt(sqrt(size)) * math.sqrt(math.pi))


def _precise(m: Any, v: Any) -> Any:
    return m.airyai(v)


def _plain(v: float) -> float:
    import mpmath  # type: ignore[import-untyped]

    if not math.isfinite(v):
        return math.nan  # as torch has it
    with mpmath.workprec(120):
        return float(_precise(mpmath.mp, mpmath.mpf(v)))


@op(accepts=FLOAT, promote="float", nondifferentiable=True, largest=BY_MPMATH,
    domain=(-6.0, 6.0), oracle=each(_plain, _precise), cancels=True,
    undefined_on=("extreme", "sweep", "wide", "few", "lone"))  # fmt: skip
def airy_function(input: Tensor) -> Tensor:
    """Airy's function Ai (DLMF 9.2); NaN where `input` is infinite, as torch has it."""
    y = _middle(maximum(minimum(input, _HIGH), -_LOW))
    y = where(input > _HIGH, _decaying(maximum(input, _HIGH)), y)
    y = where(input < -_LOW, _waving(maximum(-input, _LOW)), y)
    return where(abs(input) == math.inf, math.nan, y)
