"""Words as radii, directions and exponential numbers, by generated kernels' steps.

Not by a library's own logarithm, sine and cosine: those of any two libraries differ in
the last place, and normal numbers have the same bits in large draws as in small ones.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from dovetail.codegen.array_steps import Steps
from dovetail.codegen.random_values import polar, waiting
from dovetail.codegen.values import parameter
from dovetail.xp.philox import pairs


def single(xp: Any, words: Any) -> list[Any]:
    """Radius, cosine and sine of each pair of words, in float32."""
    u = words[0::2].astype("float32")
    u *= 2.0**-32
    u += 2.0**-33
    turn = words[1::2].view("int32").astype("float32")
    turn *= 2.0**-32
    return _steps(xp, "float32")(u, turn)


def double(xp: Any, words: Any) -> list[Any]:
    """The same of each block of four words, in float64."""
    long = words.view("uint64") >> xp.uint64(11)
    numbers = long.view("int64").reshape(-1, 2) * 2.0**-53
    turn = numbers[:, 1]
    turn = xp.where(turn < 0.5, turn, turn - 1)
    return _steps(xp, "float64")(numbers[:, 0] + 2.0**-53, turn)


def waits(xp: Any, words: Any, each: int) -> Any:
    """Exponential numbers of words, or of pairs of them in float64."""
    if each == 2:
        long = pairs(xp, words) >> xp.uint64(11)
        u = long.view("int64") * 2.0**-53 + 2.0**-53
    else:
        u = words.astype("float32")
        u *= 2.0**-32
        u += 2.0**-33
    (y,) = _waiting(xp, "float64" if each == 2 else "float32")(u)
    return y


@cache
def _waiting(xp: Any, dtype: str) -> Steps:
    u = parameter("u", dtype)
    return Steps(xp, (u,), (waiting(u),))


@cache
def _steps(xp: Any, dtype: str) -> Steps:
    given = parameter("u", dtype), parameter("turn", dtype)
    return Steps(xp, given, polar(*given))
