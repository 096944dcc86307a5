"""Kernels that are drawn at random, operands that try them, and what must be equal."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.codegen.formats import FORMATS
from dovetail.codegen.ir import FIRST, LAST, Accumulator, Buffer, Kernel, Loop, Store
from dovetail.codegen.ir import Update as Into
from dovetail.codegen.mathematics import FUNCTIONS, Function
from dovetail.codegen.values import (
    Term,
    apply,
    cast,
    choose,
    compare,
    constant,
    equal,
    fma,
    index,
    load,
    parameter,
    unary,
)

Array = np.ndarray[Any, Any]
FLOATS = ("float32", "float64")
INTEGERS = ("uint8", "int16", "int32", "uint64")
MOVES = ("shift_left", "shift_right", "shift_right_logical")
LOGIC = ("and", "or", "xor")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def specials(dtype: str) -> Array:
    """Numbers of a dtype, with all that is special about it."""
    draws = np.random.default_rng(0)
    if dtype in FLOATS:
        info = np.finfo(dtype)
        some = [0.0, 1.0, 0.5, np.inf, info.max, info.tiny, info.smallest_subnormal]
        plain = np.exp(draws.normal(0, 3, 60)) * draws.choice([-1, 1], 60)
        with np.errstate(over="ignore"):
            return np.array([*some, *np.negative(some), np.nan, *plain]).astype(dtype)
    whole = np.iinfo(dtype)
    some = [0, 1, 2, 3, whole.max, whole.max - 1, whole.min, whole.min + 1]
    drawn = draws.integers(whole.min, whole.max, 60, dtype, endpoint=True)
    return np.array([*some, *drawn.tolist()], dtype)


def drawn_value(draw: random.Random, x: Term, y: Term, depth: int) -> Term:
    """A random value of the dtype of `x` and `y`."""
    if depth == 0:
        return draw.choice([x, y, constant(draw.choice([0, 1, 2, 5, 100]), x.dtype)])

    def one() -> Term:
        return drawn_value(draw, x, y, depth - 1)

    choices: list[Callable[[], Term]] = [
        lambda: apply(draw.choice(["add", "sub", "mul"]), one(), one()),
        lambda: apply(draw.choice(["maximum", "minimum"]), one(), one()),
        lambda: choose(compare(draw.choice(COMPARISONS), one(), one()), one(), one()),
        lambda: choose(
            apply(draw.choice(LOGIC), one() < one(), equal(one(), one())), one(), one()
        ),
        lambda: -one(),
        lambda: cast(cast(one(), "bool"), x.dtype),
    ]  # fmt: skip
    if x.dtype in FLOATS:
        f = FORMATS[x.dtype]
        choices += [
            lambda: one() / one(),
            lambda: fma(one(), one(), one()),
            lambda: unary(draw.choice(["sqrt", "floor", "truncate"]), f.size(one())),
            lambda: f.with_sign(one(), x),
            lambda: of_operands(FUNCTIONS[draw.choice(sorted(FUNCTIONS))])(
                one(), one()
            ),
        ]
    else:
        shift = constant(draw.randrange(8), x.dtype)
        choices += [
            lambda: apply(draw.choice(LOGIC), one(), one()),
            lambda: apply(draw.choice(MOVES), one(), shift),
        ]
    return draw.choice(choices)()


def of_operands(function: Function) -> Callable[[Term, Term], Term]:
    """A function of the mathematics, of as many of two operands as it takes."""
    return lambda *given: function.make(*given[: function.inputs])


def elementwise(make: Callable[[Term, Term], Term], dtype: str) -> Kernel:
    """z = make(x, y) for each element."""
    x, y, i = Buffer("x", dtype), Buffer("y", dtype), index("i")
    z = make(load(x, i), load(y, i))
    out = Buffer("z", z.dtype, written=True)
    loop = Loop("lane", i.value, FIRST, LAST, (Store(out, i.value, z.value),))
    return Kernel("elementwise", (x, y, out), (), (loop,))


def drawn_kernel(seed: int, dtype: str) -> Kernel:
    """A random kernel of two operands."""
    draw = random.Random(f"{dtype} {seed}")
    return elementwise(lambda x, y: drawn_value(draw, x, y, 3), dtype)


def assert_same(a: Array, b: Array) -> None:
    """Equal to the bit, but for which NaN it is."""
    bits = f"u{a.itemsize}"
    same = a.view(bits) == b.view(bits)
    if a.dtype.kind == "f":
        same |= np.isnan(a) & np.isnan(b)
    assert same.all(), (a[~same], b[~same])


def rows(combine: Any, dtype: str, start: float) -> Kernel:
    """y[row] = all of every `step`th of x[row] combined, and how far it got."""
    x, y = Buffer("x", dtype), Buffer("y", dtype, written=True)
    row, i, width = index("row"), index("i"), parameter("width")
    total = Accumulator(combine, dtype, start)
    element = load(x, row * width * parameter("step") + i * parameter("step"))
    loop = Loop(
        "lane", i.value, constant(0, "int64").value, width.value,
        (Into(total, element.value),), (total,),
    )  # fmt: skip
    store = Store(y, row.value, total.value)
    grid = Loop("grid", row.value, FIRST, LAST, (loop, store))
    return Kernel("rows", (x, y), (("width", "int64"), ("step", "int64")), (grid,))
