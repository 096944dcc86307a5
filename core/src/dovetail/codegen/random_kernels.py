"""Kernels that draw: an element a lane, from the beginning of a block of words on.

Those that are made for `anywhere` begin in the midst of a block: `skip` words are not
drawn, and limits are those of 64 bits.
"""

from __future__ import annotations

from typing import Final

from dovetail.codegen import random_values as draw
from dovetail.codegen.formats import computed_in, in_memory, narrowed, widened
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
_SKIP: Final = (("skip", "int64"),)


def _place(anywhere: bool, dtype: str = "") -> Term:
    """The number of a lane's word, or of its fraction, which may take two."""
    if not anywhere:
        return _LANE
    skip = parameter("skip", "int64")
    return _LANE + (skip >> 1 if dtype == "float64" else skip)


def _below_limit(anywhere: bool) -> Term:
    """Whether words are below `limit`; in 64 bits, that may be more than all are."""
    drawn, whole = draw.word(_place(anywhere)), "uint64" if anywhere else "uint32"
    return (cast(drawn, whole) if anywhere else drawn) < parameter("limit", whole)


def _each(
    name: str, sources: list[Buffer], results: list[Term],
    numbers: tuple[tuple[str, str], ...] = (), costly: bool = False, align: int = 0,
    fused: bool = True, anywhere: bool = False,
) -> Kernel:  # fmt: skip
    """A kernel of results that lie in one run."""
    outs = [Buffer(f"y{k}", y.dtype, True, align) for k, y in enumerate(results)]
    stores = [
        Store(out, _LANE.value, y.value) for out, y in zip(outs, results, strict=True)
    ]
    loop = Loop("lane", _LANE.value, FIRST, LAST, tuple(stores))
    # Blocks need four lanes; bytes have enough of them in one register.
    registers = 1 if costly or results[0].dtype == "bool" else 2
    words = (*draw.PARAMETERS, *(_SKIP if anywhere else ()), *numbers)
    return Kernel(name, (*sources, *outs), words, (loop,), registers, fused)


def words(anywhere: bool = False) -> Kernel:
    """Words, as the bits of int32."""
    y = bits(draw.word(_place(anywhere)), "int32")
    return _each("random_words", [], [y], anywhere=anywhere)


def uniform(dtype: str, scaled: bool, anywhere: bool = False) -> Kernel:
    """Fractions; where `scaled`, times `span` plus `low`, and at most `greatest`."""
    y, wide = draw.fraction(_place(anywhere, dtype), dtype), computed_in(dtype)
    name = f"uniform_{dtype}"
    if not scaled:
        return _each(name, [], [narrowed(y, dtype)], anywhere=anywhere)
    names = ("span", "low", "greatest")
    span, low, greatest = (parameter(name, wide) for name in names)
    y = apply("minimum", y * span + low, greatest)
    numbers = tuple((name, wide) for name in names)
    y = narrowed(y, dtype)
    return _each(f"{name}_scaled", [], [y], numbers, anywhere=anywhere)


def normal(dtype: str, scaled: bool, anywhere: bool = False) -> Kernel:
    """Normal numbers; where `scaled`, times `std` plus `mean`.

    In float64, or from anywhere on, a lane has one; else a pair, whose bits are those
    of one integer. Nothing is fused: arrays that `Steps` computes get the same bits.
    """
    name = f"normal_{dtype}{'_scaled' if scaled else ''}"
    wide = computed_in(dtype)
    numbers = (("std", wide), ("mean", wide)) if scaled else ()
    if dtype == "float64" or anywhere:
        place = _place(anywhere, dtype)
        polar = draw.polar_double if dtype == "float64" else draw.polar_single
        radius, cosine, sine = polar(place >> 1)
        y = radius * choose(equal(place & 1, 1), sine, cosine)
        return _each(
            name, [], [narrowed(_moved(y, scaled), dtype)], numbers, costly=True,
            fused=False, anywhere=anywhere,
        )  # fmt: skip
    radius, *both = draw.polar_single(_LANE)
    moved = [narrowed(_moved(radius * x, scaled), dtype) for x in both]
    size, twice = (4, "uint64") if dtype == "float32" else (2, "uint32")
    low, high = (cast(bits(x, f"uint{8 * size}"), twice) for x in moved)
    return _each(name, [], [low | high << 8 * size], numbers, align=size, fused=False)


def _moved(y: Term, scaled: bool) -> Term:
    if not scaled:
        return y
    return y * parameter("std", y.dtype) + parameter("mean", y.dtype)


def exponential(dtype: str, anywhere: bool = False) -> Kernel:
    """Exponential numbers times `scale`; nothing is fused, as of normal ones."""
    wide = computed_in(dtype)
    u = draw.fraction_above(_place(anywhere, wide), wide)
    y = narrowed(draw.waiting(u) * parameter("scale", wide), dtype)
    return _each(
        f"exponential_{dtype}", [], [y], (("scale", wide),), costly=True, fused=False,
        anywhere=anywhere,
    )  # fmt: skip


def mask(anywhere: bool = False) -> Kernel:
    """Whether words are below `limit`."""
    numbers = (("limit", "uint64" if anywhere else "uint32"),)
    return _each(
        "random_mask", [], [_below_limit(anywhere)], numbers, anywhere=anywhere
    )


def dropout(dtype: str, anywhere: bool = False) -> Kernel:
    """Elements times `scale` or 0, and whether they are kept."""
    kept = _below_limit(anywhere)
    x, wide = Buffer("x", in_memory(dtype)), computed_in(dtype)
    scaled = choose(kept, parameter("scale", wide), 0.0)
    y = narrowed(widened(load(x, _LANE), dtype) * scaled, dtype)
    numbers = (("limit", "uint64" if anywhere else "uint32"), ("scale", wide))
    return _each(f"dropout_{dtype}", [x], [y, kept], numbers, anywhere=anywhere)


def trials(dtype: str, anywhere: bool = False) -> Kernel:
    """1 where a fraction is below an element, else 0."""
    p = Buffer("x", in_memory(dtype))
    wide = computed_in(dtype)
    drawn = draw.fraction(_place(anywhere, dtype), wide)
    y = narrowed(cast(drawn < widened(load(p, _LANE), dtype), wide), dtype)
    return _each(f"random_trials_{dtype}", [p], [y], anywhere=anywhere)


def integers(dtype: str) -> Kernel:
    """`low` and what is below `span`, in parts of `PART` of `count` elements.

    Each part's least lower half of a product says whether elements were rejected.
    """
    part = index("part")
    begin = part * PART
    end = apply("minimum", begin + PART, parameter("count"))
    product = cast(draw.word(_LANE), "uint64") * parameter("span", "uint64")
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
    words = (*draw.PARAMETERS, *numbers)
    return Kernel(f"random_integers_{dtype}", (y, least), words, (grid,))


__all__ = ["PART", "dropout", "exponential", "integers", "mask", "normal", "trials",
           "uniform", "words"]  # fmt: skip
