"""NumPy arrays written from others that lie otherwise, by generated kernels."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final, NamedTuple

from dovetail.codegen import moves, runtime
from dovetail.codegen.arrays import Array, target
from dovetail.codegen.eager_places import MOVED
from dovetail.codegen.eager_sort import run
from dovetail.codegen.layout import Ints
from dovetail.codegen.llvm_text import render
from dovetail.codegen.runtime.launch import Launch, launching

_REMEMBERED: Final = 256  # pairs of arrays
_PAIR: Final = 16  # bytes of an element that is moved as two


class _Work(NamedTuple):
    """What moves the elements of arrays that lie so."""

    kernel: runtime.Kernel
    move: moves.Move
    launch: Launch | None


def moved(y: Array, x: Array) -> bool:
    """Write the elements of `x` to `y`; False where NumPy has to.

    Args:
        x: of the dtype of `y`, and of its shape once it is broadcast; the two share
            no memory.
    """
    work = _work(y.shape, y.strides, x.shape, x.strides, y.dtype.itemsize)
    if work is None:
        return False
    if work.launch is None or not work.launch(x, y):
        move = work.move
        run(work.kernel, move.items, move.grain, x, y, *move.words)
    return True


@lru_cache(_REMEMBERED)
def _work(shape: Ints, to: Ints, size: Ints, of: Ints, itemsize: int) -> _Work | None:
    """What moves elements of so many bytes between arrays of such shapes and strides;
    None where kernels do not.
    """
    of = _spread(shape, size, of)
    if itemsize == _PAIR:
        itemsize //= 2
        shape, of, to = (*shape, 2), (*of, itemsize), (*to, itemsize)
    known = itemsize in MOVED and 0 not in shape
    if not known or any(s % itemsize for s in (*of, *to)):
        return None
    of, to = (tuple([s // itemsize for s in strides]) for strides in (of, to))
    move = moves.planned(shape, of, to, itemsize)
    if move is None:
        return None
    kernel = _kernel(MOVED[itemsize], move.kind, move.parts)
    launch = launching(kernel, 2, move.words, move.items, move.grain)
    return _Work(kernel, move, launch)


def _spread(shape: Ints, size: Ints, strides: Ints) -> Ints:
    """Strides of an array once it is broadcast."""
    missing = len(shape) - len(size)
    own = [
        step if n == wanted else 0
        for n, wanted, step in zip(size, shape[missing:], strides, strict=True)
    ]
    return (*(0,) * missing, *own)


@cache
def _kernel(dtype: str, kind: str, parts: bool) -> runtime.Kernel:
    form = moves.moved(dtype, kind, parts)
    return runtime.kernel(form.name, render(form, target()))


__all__ = ["moved"]
