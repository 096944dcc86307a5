"""The law of random numbers as values of kernels: words, fractions, turns, normals.

What is drawn is said in `dovetail.ops.philox`; `Stream` gives it lane by lane.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from dovetail.codegen.exponential import log_of_normal
from dovetail.codegen.formats import FORMATS, Format
from dovetail.codegen.functions import polynomial
from dovetail.codegen.ir import Value
from dovetail.codegen.values import (
    Term,
    apply,
    bits,
    cast,
    choose,
    constant,
    equal,
    parameter,
    unary,
)

PARAMETERS: Final = (
    ("first_block", "uint64"),
    ("seed", "uint64"),
    ("stream", "uint64"),
)
"""The place in a seed's streams, as parameters of a kernel."""

_LEAST_WAIT: Final = {"float32": 2.0**-26, "float64": 2.0**-54}
_FRACTION_BITS: Final = {"float16": 11, "bfloat16": 8, "float32": 24}

# sin(a) / a - 1 and cos(a) in a² for |a| <= pi/4: Taylor's, to below a tenth of an ulp.
_SINE: Final = {"float32": 5, "float64": 9}
_COSINE: Final = {"float32": 6, "float64": 10}


def _draw(dtype: str, index: Term) -> Term:
    place = [parameter(name, d).value for name, d in PARAMETERS]
    return Term(Value("philox", dtype, (index.value, *place)))


def word(index: Term) -> Term:
    """A word of 32 bits, counted from the first block."""
    return _draw("uint32", index)


def pair(index: Term) -> Term:
    """Two words as 64 bits, counted from the first block."""
    return _draw("uint64", index)


def _shifted(x: Term, count: int) -> Term:
    return apply("shift_right_logical", x, count)


def fraction(index: Term, dtype: str) -> Term:
    """A fraction in [0, 1): the upper bits of a word, or of two for a float64.

    Those for floats of 16 bits are computed as float32, which has them exactly.
    """
    if dtype == "float64":
        whole = bits(_shifted(pair(index), 11), "int64")
        return cast(whole, dtype) * 2.0**-53
    count = _FRACTION_BITS[dtype]
    whole = bits(_shifted(word(index), 32 - count), "int32")
    return cast(whole, "float32") * 2.0**-count


class Polar(NamedTuple):
    """A radius, and the cosine and sine of an angle (Box & Muller 1958)."""

    radius: Term
    cosine: Term
    sine: Term


def polar_single(index: Term) -> Polar:
    """In float32, of the pair of words with this number."""
    both = pair(index)
    u = cast(cast(both, "uint32"), "float32") * 2.0**-32 + 2.0**-33
    angle = bits(cast(_shifted(both, 32), "uint32"), "int32")
    return polar(u, cast(angle, "float32") * 2.0**-32)


def polar_double(block: Term) -> Polar:
    """In float64, of the block with this number."""
    u = fraction(block << 1, "float64") + 2.0**-53
    turn = fraction((block << 1) + 1, "float64")
    return polar(u, choose(turn < 0.5, turn, turn - 1.0))


def polar(u: Term, turn: Term) -> Polar:
    """Of a fraction in (0, 1], and of an angle from -1/2 to 1/2 of a turn."""
    radius = unary("sqrt", log_of_normal(u) * -2.0)
    return Polar(radius, *turned(turn))


def waiting(u: Term) -> Term:
    """Exponential numbers, never 0, of fractions in (0, 1]."""
    least = _LEAST_WAIT[u.dtype]
    y = -log_of_normal(u)
    return choose(y < least, least, y)


def fraction_above(index: Term, dtype: str) -> Term:
    """A fraction in (0, 1]: half a step above those of all bits of a word, or of 53."""
    if dtype == "float64":
        return fraction(index, dtype) + 2.0**-53
    return cast(word(index), "float32") * 2.0**-32 + 2.0**-33


def turned(turn: Term) -> tuple[Term, Term]:
    """Cosine and sine of an angle, given from -1/2 to 1/2 of a turn.

    Within 1.5 ulp, where results are no less than 2**-10.
    """
    f = FORMATS[turn.dtype]
    shifted = turn * 4.0 + f.round
    quarter = bits(shifted, f.integer)  # in its last bits
    a = (turn - (shifted - f.round) * 0.25) * (2 * math.pi)
    square = a * a
    sine = a + a * (square * polynomial(square, _series(_SINE[f.dtype], 3)))
    cosine = 1.0 + square * polynomial(square, _series(_COSINE[f.dtype], 2))
    odd = equal(quarter & 1, 1)
    turned_cosine = choose(odd, sine, cosine)
    turned_sine = choose(odd, cosine, sine)
    return _negated(f, turned_cosine, quarter + 1), _negated(f, turned_sine, quarter)


def _series(count: int, first: int) -> list[float]:
    """-1/first!, 1/(first+2)! … of a sine (3) or cosine (2), `count` being the last."""
    return [(-1.0) ** (i + 1) / math.factorial(first + 2 * i) for i in range(count - 1)]


def _negated(f: Format, x: Term, quarter: Term) -> Term:
    """-x in those quarters of a turn whose second bit is set."""
    sign = 31 if f.dtype == "float32" else 63
    moved = (quarter & 2) << constant(sign - 1, f.integer)
    return bits(bits(x, f.integer) ^ moved, f.dtype)
