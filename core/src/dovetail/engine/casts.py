"""In which order the dims of a tensor lie in memory, and casts that keep it."""

from __future__ import annotations

from dovetail.dtypes import DType
from dovetail.engine.basics import basics
from dovetail.engine.tensor import Tensor
from dovetail.engine.views import unshared


def own_order(x: Tensor) -> tuple[int, ...]:
    """The dims of `x` from the outermost in memory to the innermost.

    Dims of size 1, and such as repeat one place, stay beside their neighbours.
    """
    strides, _ = x._kind.backend.geometry(x._a, x._a)
    order: list[int] = []
    for dim, size in enumerate(x._a.shape):
        at = len(order)
        if size != 1 and strides[dim]:
            at = _place(order, strides, tuple(x._a.shape), dim)
        order.insert(at, dim)
    return tuple(order)


def _place(
    order: list[int], strides: tuple[int, ...], sizes: tuple[int, ...], dim: int
) -> int:
    """Behind the last dim whose steps are no smaller; free dims do not count."""
    at = len(order)
    for i in reversed(range(len(order))):
        other = order[i]
        if sizes[other] == 1 or not strides[other]:
            continue
        if abs(strides[other]) >= abs(strides[dim]):
            break
        at = i
    return at


def back(order: tuple[int, ...]) -> tuple[int, ...]:
    """The order that undoes another one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def cast_in_order(x: Tensor, dtype: DType) -> Tensor:
    """`x` in another dtype, its dims in memory as they were."""
    backend = x._kind.backend
    if len(x._a.shape) < 2 or backend.is_contiguous(x._a):
        return basics.cast(x, dtype)  # type: ignore[no-any-return]
    order = own_order(x)
    made = basics.cast(basics.permute(x, order), dtype)
    return unshared(basics.permute(made, back(order)))
