"""Whether numbers lie in a range: one block of threads looks at all of them."""

from __future__ import annotations

from dovetail.codegen.accumulation import accumulator
from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Store, Update
from dovetail.codegen.values import (
    Term,
    apply,
    cast,
    choose,
    compare,
    constant,
    index,
    load,
    parameter,
)


def any_outside(dtype: str, spared: int) -> Kernel:
    """True where some integer is less than one number, or not less than another.

    Buffers: the integers, then one bool. Parameters: the two numbers, so many that do
    not count, and how many integers there are. Items: one.
    """
    x, y = Buffer("x", dtype), Buffer("y", "bool", written=True)
    at, zero = index("at"), constant(0, "int64")
    number, found = cast(load(x, at), "int64"), accumulator("maximum", "int32")
    names = [f"spared{i}" for i in range(spared)]
    outside = apply("or", number < parameter("low"), number >= parameter("end"))
    for name in names:
        outside = apply("and", outside, compare("ne", number, parameter(name)))
    flag = choose(outside, constant(1, "int32"), constant(0, "int32"))
    end = parameter("count").value
    lanes = Loop(
        "lane", at.value, zero.value, end, (Update(found, flag.value),), (found,)
    )
    store = Store(y, zero.value, compare("gt", Term(found.value), 0).value)
    words = [(name, "int64") for name in ("low", "end", *names, "count")]
    grid = Loop("grid", index("one").value, FIRST, LAST, (lanes, store))
    return Kernel(f"any_outside_{dtype}", (x, y), tuple(words), (grid,))
