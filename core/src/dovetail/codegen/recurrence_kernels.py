"""Kernels of recurrences along a dim: the gradient of products so far.

Nothing is fused, so that they have the bits of NumPy's kernels, but in NaN.
"""

from __future__ import annotations

from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Statement, Store
from dovetail.codegen.values import Term, choose, constant, index, load, parameter

_WORDS = ("size", "inner")


def product_slopes(dtype: str, wide: bool) -> Kernel:
    """A function of ct, x, y and the result, each [outer, size, inner].

    Args:
        wide: whether there are several inner elements, which lie side by side.
    """
    ct, x, y = Buffer("ct", dtype), Buffer("x", dtype), Buffer("y", dtype)
    found = Buffer("found", dtype, written=True)
    item, t, j = index("item"), index("t"), index("j")
    size, inner = parameter("size"), parameter("inner")
    none = constant(0, "int64")

    def place(i: Term) -> Term:
        return (item * size + i) * inner + j if wide else item * size + i

    i = size - 1 - t
    follows = t > 0
    after = place(choose(follows, i + 1, i))
    given = load(ct, place(i))
    total = load(x, after) * load(found, after) + given
    behind = Store(found, place(i).value, choose(follows, total, given).value)
    before = load(y, place(choose(t > 0, t - 1, t)))
    factor = choose(t > 0, before, constant(1, dtype))
    whole = Store(found, place(t).value, (load(found, place(t)) * factor).value)

    def steps(store: Store) -> Loop:
        body: tuple[Statement, ...] = (store,)
        if wide:
            body = (Loop("lane", j.value, none.value, inner.value, body),)
        return Loop("seq", t.value, none.value, size.value, body)

    grid = Loop("grid", item.value, FIRST, LAST, (steps(behind), steps(whole)))
    name = f"product_slopes_{dtype}" + "_wide" * wide
    words = tuple((word, "int64") for word in _WORDS)
    return Kernel(name, (ct, x, y, found), words, (grid,), fused=False)


__all__ = ["product_slopes"]
