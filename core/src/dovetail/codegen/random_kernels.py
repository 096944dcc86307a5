"""Kernels that draw: an element a lane, wherever in a stream the first one lies.

`skip` is how many elements before the first one there are in its block; a kernel that
knows of none (`aligned`) computes each block but once.
"""

from __future__ import annotations

from typing import Final

from dovetail.codegen import random_values as draw
from dovetail.codegen.ir import FIRST, LAST, Accumulator, Buffer, Kernel, Loop, Store
from dovetail.codegen.ir import Update as Into
from dovetail.codegen.values import (
    Term,
    apply,
    bits,
    cast,
    choose,
    equal,
    index,
    load,
    parameter,
)

PART: Final = 1 << 12
"""Integers that are looked at together for some that have to be drawn again."""

_LANE: Final = index("i")


def _place(aligned: bool) -> Term:
    """The number of a lane's element, from the first block on."""
    return _LANE if aligned else _LANE + parameter("skip")


def _each(
    name: str, aligned: bool, sources: list[Buffer], results: list[Term],
    numbers: tuple[tuple[str, str], ...] = (), costly: bool = False,
) -> Kernel:  # fmt: skip
    """A kernel of results that lie in one run."""
    outs = [Buffer(f"y{k}", y.dtype, written=True) for k, y in enumerate(results)]
    stores = [
        Store(out, _LANE.value, y.value) for out, y in zip(outs, results, strict=True)
    ]
    loop = Loop("lane", _LANE.value, FIRST, LAST, tuple(stores))
    words = (*draw.PARAMETERS, ("skip", "int64"), *numbers)
    name = f"{name}_{'blocks' if aligned else 'anywhere'}"
    # Blocks need four lanes; bytes have enough of them in one register.
    few = costly or not aligned or results[0].dtype == "bool"
    registers = 1 if few else 2
    return Kernel(name, (*sources, *outs), words, (loop,), registers)


def words(aligned: bool) -> Kernel:
    """Words, as the bits of int32."""
    return _each(
        "random_words", aligned, [], [bits(draw.word(_place(aligned)), "int32")]
    )


def uniform(aligned: bool, dtype: str, scaled: bool) -> Kernel:
    """Fractions; where `scaled`, times `span` plus `low`, and at most `greatest`."""
    y = draw.fraction(_place(aligned), dtype)
    if not scaled:
        return _each(f"uniform_{dtype}", aligned, [], [y])
    names = ("span", "low", "greatest")
    span, low, greatest = (parameter(name, dtype) for name in names)
    y = apply("minimum", y * span + low, greatest)
    numbers = tuple((name, dtype) for name in names)
    return _each(f"uniform_{dtype}_scaled", aligned, [], [y], numbers)


def normal(aligned: bool, dtype: str, scaled: bool) -> Kernel:
    """Normal numbers, one a lane; where `scaled`, times `std` plus `mean`."""
    i = _place(aligned)
    polar = draw.polar_double if dtype == "float64" else draw.polar_single
    radius, cosine, sine = polar(i >> 1)
    y = radius * choose(equal(i & 1, 1), sine, cosine)
    name = f"normal_{dtype}{'_scaled' if scaled else ''}"
    y, numbers = _moved(y, scaled), _scale(dtype, scaled)
    return _each(name, aligned, [], [y], numbers, costly=True)


def normal_pairs(aligned: bool, scaled: bool) -> Kernel:
    """Normal numbers in float32, both of a pair in one lane, as a uint64."""
    radius, *both = draw.polar_single(_place(aligned))
    halves = [bits(_moved(radius * x, scaled), "uint32") for x in both]
    low, high = (cast(x, "uint64") for x in halves)
    name = f"normal_pairs{'_scaled' if scaled else ''}"
    return _each(name, aligned, [], [low | high << 32], _scale("float32", scaled))


def _scale(dtype: str, scaled: bool) -> tuple[tuple[str, str], ...]:
    return (("std", dtype), ("mean", dtype)) if scaled else ()


def _moved(y: Term, scaled: bool) -> Term:
    if not scaled:
        return y
    return y * parameter("std", y.dtype) + parameter("mean", y.dtype)


def mask(aligned: bool) -> Kernel:
    """Whether words are below `limit`."""
    y = draw.word(_place(aligned)) < parameter("limit", "uint32")
    return _each("random_mask", aligned, [], [y], (("limit", "uint32"),))


def dropout(aligned: bool, dtype: str) -> Kernel:
    """Elements times `scale` or 0, and whether they are kept."""
    kept = draw.word(_place(aligned)) < parameter("limit", "uint32")
    x = Buffer("x", dtype)
    y = load(x, _LANE) * choose(kept, parameter("scale", dtype), 0.0)
    numbers = (("limit", "uint32"), ("scale", dtype))
    return _each(f"dropout_{dtype}", aligned, [x], [y, kept], numbers)


def trials(aligned: bool, dtype: str) -> Kernel:
    """1 where a fraction is below an element, else 0."""
    p = Buffer("x", dtype)
    y = cast(draw.fraction(_place(aligned), dtype) < load(p, _LANE), dtype)
    return _each(f"random_trials_{dtype}", aligned, [p], [y])


def integers(aligned: bool, dtype: str) -> Kernel:
    """`low` and what is below `span`, in parts of `PART` of `count` elements.

    Each part's least lower half of a product says whether elements were rejected.
    """
    part, skip = index("part"), parameter("skip")
    begin = part * PART
    end = apply("minimum", begin + PART, parameter("count"))
    place = _LANE if aligned else _LANE + skip
    product = cast(draw.word(place), "uint64") * parameter("span", "uint64")
    number = apply("shift_right_logical", product, 32) + parameter("low", "uint64")
    y, least = Buffer("y", dtype, written=True), Buffer("least", "uint32", written=True)
    lower = Accumulator("minimum", "uint32", 2**32 - 1)
    body = (
        Into(lower, cast(product, "uint32").value),
        Store(y, _LANE.value, cast(number, dtype).value),
    )
    lanes = Loop("lane", _LANE.value, begin.value, end.value, body, (lower,))
    grid = Loop("grid", part.value, FIRST, LAST,
                (lanes, Store(least, part.value, lower.value)))  # fmt: skip
    numbers = (("count", "int64"), ("span", "uint64"), ("low", "uint64"))
    name = f"random_integers_{dtype}_{'blocks' if aligned else 'anywhere'}"
    return Kernel(name, (y, least), (*draw.PARAMETERS, ("skip", "int64"), *numbers),
                  (grid,))  # fmt: skip


__all__ = ["PART", "dropout", "integers", "mask", "normal", "normal_pairs", "trials",
           "uniform", "words"]  # fmt: skip
