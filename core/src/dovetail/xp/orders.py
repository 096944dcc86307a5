"""In which order the dims of a result lie in memory.

NumPy lets most results lie as the operands do. In torch that is so for elementwise
ops, and of some that only move elements; what else gathers or reduces gives row-major
results. Kernels of what a library would lay out otherwise go through one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Ints = tuple[int, ...]
Kernel = Callable[..., Any]

# ---- in rows, however operands lie


def rows(y: Any) -> Any:
    """The array in row-major order: itself, if it lies so."""
    return y if y.flags.c_contiguous else y.copy("C")


def in_rows(run: Kernel) -> Kernel:
    """A kernel of one result or a few, which lie in row-major order."""

    def call(*given: Any, **named: Any) -> Any:
        y = run(*given, **named)
        if type(y) is tuple:
            return tuple([rows(part) for part in y])
        return y if y.flags.c_contiguous else y.copy("C")

    return call


def binding_rows(bind: Callable[..., Kernel]) -> Callable[..., Kernel]:
    """What binds a kernel to attributes, its results in row-major order."""
    return lambda **attrs: in_rows(bind(**attrs))


# ---- as operands lie


def order_of(shape: Ints, strides: Sequence[Ints]) -> Ints:
    """The dims of a result from the outermost in memory to the innermost, as in torch.

    The first operand that tells two dims apart says which is outer. One that is
    repeated along either tells nothing; nobody telling, they stay as they are.
    """
    order: list[int] = []
    for dim in range(len(shape)):
        at = len(order)
        for place in reversed(range(len(order))):
            told = _outer(shape, strides, order[place], dim)
            if told > 0:
                break
            at = place if told < 0 else at
        order.insert(at, dim)
    return tuple(order)


def _outer(shape: Ints, strides: Sequence[Ints], first: int, second: int) -> int:
    """1 where the first of two dims is outer, -1 where the second is, 0 if unknown."""
    if shape[first] == 1 or shape[second] == 1:
        return 0
    for steps in strides:
        a, b = abs(steps[first]), abs(steps[second])
        if a and b:
            return 1 if a >= b else -1
    return 0


def by_channels(a: Any) -> bool:
    """Whether images lie with their channels inside, as in torch's channels_last."""
    if a.ndim not in (4, 5) or a.flags.c_contiguous:
        return False
    found: bool = a.transpose((0, *range(2, a.ndim), 1)).flags.c_contiguous
    return found


def like(xp: Any, a: Any, dtype: Any = None) -> Any:
    """A fresh array whose dims lie in the order of those of `a`."""
    dtype = a.dtype if dtype is None else dtype
    if a.flags.c_contiguous:
        return xp.empty(a.shape, dtype)
    order = order_of(a.shape, [a.strides])
    y = xp.empty([a.shape[d] for d in order], dtype)
    return y.transpose(back(order))


def laid_like(xp: Any, a: Any, y: Any) -> Any:
    """Row-major elements as an array that lies as `a`, of the same shape, does."""
    if a.flags.c_contiguous:
        return y
    laid = like(xp, a, y.dtype)
    laid[...] = y
    return laid


def following(xp: Any, run: Kernel) -> Kernel:
    """A kernel of one array, whose row-major results shall lie as that does."""

    def call(a: Any, *more: Any, **named: Any) -> Any:
        y = run(a, *more, **named)
        if y is None or a.flags.c_contiguous:
            return y
        if type(y) is tuple:
            return tuple([laid_like(xp, a, part) for part in y])
        return laid_like(xp, a, y)

    return call


def elementwise(xp: Any, run: Kernel) -> Kernel:
    """An elementwise kernel whose results lie as its operands do, not in rows.

    It gets these with their dims turned, so that nothing is copied.
    """

    def call(*arrays: Any, **named: Any) -> Any:
        for a in arrays:
            if not a.flags.c_contiguous:
                break
        else:
            return run(*arrays, **named)
        spread = arrays if len(arrays) == 1 else xp.broadcast_arrays(*arrays)
        order = order_of(spread[0].shape, [a.strides for a in spread])
        y = rows(run(*[a.transpose(order) for a in spread], **named))
        return y.transpose(back(order))

    return call


def back(order: Ints) -> Ints:
    """The order of dims that undoes another one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


__all__ = [
    "back", "binding_rows", "by_channels", "elementwise", "following", "in_rows",
    "laid_like", "like", "order_of", "rows",
]  # fmt: skip
