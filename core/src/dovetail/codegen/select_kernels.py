"""Kernels that find the greatest of rows without sorting them, and runs of equals."""

from __future__ import annotations

from typing import Final

from dovetail.codegen.ir import (
    FIRST,
    LAST,
    SIZES,
    Accumulator,
    Buffer,
    Kernel,
    Loop,
    Store,
    Update,
)
from dovetail.codegen.sort_kernels import bits_dtype, key_of
from dovetail.codegen.values import (
    Term,
    cast,
    choose,
    compare,
    constant,
    index,
    load,
    parameter,
)

RUNS: Final = frozenset(SIZES)
"""Dtypes of which runs are found."""


def _key(x: Buffer, at: Term, dtype: str) -> Term:
    """The key at a place; turned round where the least are looked for."""
    key = cast(key_of(load(x, at), dtype), "uint64")
    return key ^ parameter("turn", "uint64")


def block_greatest(dtype: str) -> Kernel:
    """The greatest key of each block: rows of `lanes` are cut into `blocks` of `size`.

    The last block of a row may be shorter.
    """
    x, out = Buffer("x", bits_dtype(dtype)), Buffer("greatest", "uint64", True)
    row, block, lane = index("row"), index("block"), index("lane")
    lanes, size = parameter("lanes"), parameter("size")
    first = block * size
    end = choose(first + size < lanes, first + size, lanes)
    begin = row * lanes
    most = Accumulator("maximum", "uint64", 0)
    key = _key(x, begin + lane, dtype)
    loop = Loop(
        "lane", lane.value, first.value, end.value, (Update(most, key.value),), (most,)
    )  # fmt: skip
    store = Store(out, (row * parameter("blocks") + block).value, most.value)
    blocks = Loop(
        "seq", block.value, constant(0, "int64").value, parameter("blocks").value,
        (loop, store),
    )  # fmt: skip
    grid = Loop("grid", row.value, FIRST, LAST, (blocks,))
    words = (
        ("turn", "uint64"), ("lanes", "int64"), ("size", "int64"), ("blocks", "int64")
    )  # fmt: skip
    return Kernel(f"block_greatest_{dtype}", (x, out), words, (grid,))


def chosen_keys(dtype: str) -> Kernel:
    """Keys of the elements that `places` names."""
    x, places = Buffer("x", bits_dtype(dtype)), Buffer("places", "int64")
    out, lane = Buffer("keys", "uint64", True), index("lane")
    key = _key(x, load(places, lane), dtype)
    store = Store(out, lane.value, key.value)
    loop = Loop("seq", lane.value, FIRST, LAST, (store,))
    words = (("turn", "uint64"),)
    return Kernel(f"chosen_keys_{dtype}", (x, places, out), words, (loop,))


def runs(dtype: str, moved: bool) -> Kernel:
    """Which run of equal elements each belongs to, and where runs end.

    Args:
        moved: the number of a run goes to the place that `order` names, not beside
            its element.
    """
    x = Buffer("x", dtype)
    order, numbers = Buffer("order", "int64"), Buffer("numbers", "int64", True)
    ends, i = Buffer("ends", "int64", True), index("i")
    run = Accumulator("add", "int64", 0)
    before = load(x, choose(i > 0, i - 1, constant(0, "int64")))
    differs = compare("ne", load(x, i), before) & (i > 0)
    place = load(order, i) if moved else i
    # Of a run, the last element says last where it ends.
    steps = (
        Update(run, cast(differs, "int64").value),
        Store(numbers, place.value, run.value),
        Store(ends, run.value, (i + 1).value),
    )
    loop = Loop("seq", i.value, FIRST, LAST, steps, (run,))
    name = f"runs_{dtype}" + ("_moved" if moved else "")
    buffers = (x, order, numbers, ends) if moved else (x, numbers, ends)
    return Kernel(name, buffers, (), (loop,))
