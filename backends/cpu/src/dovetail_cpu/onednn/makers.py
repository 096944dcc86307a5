"""What serves a call by a primitive, where that is worth it and oneDNN knows it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.dtypes import DType, bfloat16, float32
from dovetail.xp import pool_pairs
from dovetail.xp.windows import Windows
from dovetail_cpu.onednn.by_size import FORMATS, Served

if TYPE_CHECKING:
    from dovetail_cpu.onednn.convolution import Convolution

_WHOLE: Final = {
    "ceil_mode": False, "count_include_pad": True, "divisor_override": None,
}  # fmt: skip
_MOST_DIMS: Final = 5  # batch, channels, and three of space
_BATCH: Final = 4  # matrices that are worth a primitive for all of them
_SMALLEST: Final = 1 << 11  # products of numbers in one of these matrices
_LARGE: Final = 1 << 4  # times the least work: one matrix that two threads share
_NARROW: Final = 16  # rows, columns and what is summed, at least, of one that is large

Array = np.ndarray[Any, Any]


def _forward(
    least: int, x: Array, w: Array, b: Array | None, stride: Any, padding: Any,
    dilation: Any, groups: int,
) -> Served | None:  # fmt: skip
    windows = Windows(w.shape[2:], stride, padding, dilation)
    y = (x.shape[0], w.shape[0], *windows.places(x.shape[2:]))
    sizes = _convolution(least, x.shape, w.shape, y, windows, groups, x.dtype)
    if sizes is None:
        return None
    from dovetail_cpu.onednn.convolution import Forward

    return Forward(sizes, b is not None)


def _transposed(
    least: int, dy: Array, w: Array, size: Any, stride: Any, padding: Any,
    dilation: Any, groups: int,
) -> Served | None:  # fmt: skip
    windows = Windows(w.shape[2:], stride, padding, dilation)
    x = (dy.shape[0], w.shape[1] * groups, *size)
    sizes = _convolution(least, x, w.shape, dy.shape, windows, groups, w.dtype)
    if sizes is None:
        return None
    from dovetail_cpu.onednn.convolution import Transposed

    return Transposed(sizes)


def _weight(
    least: int, x: Array, dy: Array, kernel: Any, stride: Any, padding: Any,
    dilation: Any, groups: int,
) -> Served | None:  # fmt: skip
    w = (dy.shape[1], x.shape[1] // groups, *kernel)
    windows = Windows(kernel, stride, padding, dilation)
    sizes = _convolution(least, x.shape, w, dy.shape, windows, groups, x.dtype)
    if sizes is None:
        return None
    from dovetail_cpu.onednn.convolution import WeightGradient

    return WeightGradient(sizes)


def _convolution(
    least: int, x: Any, w: Any, y: Any, windows: Windows, groups: int, dtype: Any
) -> Convolution | None:
    """The sizes of a convolution that is worth a primitive and that oneDNN knows."""
    known = len(x) <= _MOST_DIMS and math.prod(x) > 0
    if not known or math.prod(y) * math.prod(w[1:]) < least:
        return None
    # With LLVM's text: nothing that a small program needs.
    from dovetail_cpu.onednn.convolution import Convolution

    return Convolution(x, w, y, windows, groups, dtype.name)


def _matmul(least: int, a: Array, b: Array) -> Served | None:
    """A product of arrays with the same batch, or with one matrix for all of it."""
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        return None
    if b.ndim == 2:
        return _product(least, (1, a.size // a.shape[-1], *b.shape), a.shape[:-1])
    if a.shape[:-2] != b.shape[:-2]:
        return None
    batch = math.prod(a.shape[:-2])
    return _product(least, (batch, a.shape[-2], *b.shape[-2:]), a.shape[:-1])


def large_matmul(least: int, a: Array, b: Array, row: Array | None) -> Served | None:
    """A product of large matrices, or of many that are not too small, each by itself.

    Args:
        row: added to each row of a matrix; none for batches.
    """
    if a.ndim == b.ndim == 2:
        fits = a.shape[1] == b.shape[0] and (row is None or row.shape == b.shape[1:])
        sizes = 1, *a.shape, b.shape[1]
        few = min(sizes[1:]) < _NARROW
        return None if few or not fits else _product(_LARGE * least, sizes, a.shape[:1])
    one = math.prod(a.shape[-2:]) * b.shape[-1]
    few = math.prod(a.shape[:-2]) < _BATCH or a.ndim != b.ndim
    return None if few or one < min(least, _SMALLEST) else _matmul(least, a, b)


def _bmm(least: int, a: Array, b: Array) -> Served | None:
    return _matmul(least, a, b) if a.ndim == b.ndim == 3 else None


def _linear(least: int, x: Array, w: Array, b: Array | None) -> Served | None:
    if x.ndim < 2 or w.ndim != 2 or x.shape[-1] != w.shape[1]:
        return None
    if b is not None and b.shape != w.shape[:1]:
        return None
    found = _product(least, (1, x.size // w.shape[1], *w.shape[::-1]), x.shape[:-1])
    return found and (lambda x, w, b: found(x, w.T, b))


def _product(least: int, sizes: Any, lead: Any) -> Served | None:
    """A product of such sizes that is worth a primitive.

    Args:
        sizes: batch, rows, inner, columns.
        lead: sizes of the result but for the columns.
    """
    if math.prod(sizes) < least:
        return None
    from dovetail_cpu.onednn.products import Products

    return Products(sizes, (*lead, sizes[-1]))


def _max_pool(least: int, x: Array, kernel_size: Any, **steps: Any) -> Served | None:
    windows = Windows(kernel_size, **steps)
    y = (*x.shape[:2], *windows.places(x.shape[2:]))
    return _pooling(least, "Forward", x.shape, y, windows, "MAXIMUM")


def _max_pool_backward(
    least: int, dy: Array, x: Array, kernel_size: Any, **steps: Any
) -> Served | None:
    windows = Windows(kernel_size, **steps)
    if pool_pairs.serves(windows, x):
        return None  # as quick, with no need to look at maxima twice
    return _pooling(least, "Backward", x.shape, dy.shape, windows, "MAXIMUM")


def _avg_pool(
    least: int, x: Array, kernel_size: Any, stride: Any, padding: Any, **how: Any
) -> Served | None:
    windows = Windows(kernel_size, stride, padding, (1,) * len(kernel_size))
    y = (*x.shape[:2], *windows.places(x.shape[2:]))
    algorithm = _mean(**how)
    return algorithm and _pooling(least, "Forward", x.shape, y, windows, algorithm)


def _avg_pool_backward(
    least: int, dy: Array, size: Any, kernel_size: Any, stride: Any, padding: Any,
    **how: Any,
) -> Served | None:  # fmt: skip
    windows = Windows(kernel_size, stride, padding, (1,) * len(kernel_size))
    x, algorithm = (*dy.shape[:2], *size), _mean(**how)
    return algorithm and _pooling(least, "Backward", x, dy.shape, windows, algorithm)


def _adaptive(least: int, x: Array, output_size: Any) -> Served | None:
    """The same for windows side by side."""
    if all(out == 1 for out in output_size):
        return None  # is a sum of rows
    if not _divides(x.shape[2:], output_size):
        return None
    steps = tuple(s // out for s, out in zip(x.shape[2:], output_size, strict=True))
    return _avg_pool(least, x, steps, steps, (0,) * len(steps), **_WHOLE)


def _adaptive_backward(least: int, dy: Array, size: Any) -> Served | None:
    if all(out == 1 for out in dy.shape[2:]):
        return None  # is a copy to rows
    if not _divides(size, dy.shape[2:]):
        return None
    steps = tuple(s // out for s, out in zip(size, dy.shape[2:], strict=True))
    none = (0,) * len(steps)
    return _avg_pool_backward(least, dy, size, steps, steps, none, **_WHOLE)


def _divides(size: Any, out: Any) -> bool:
    """Whether windows lie side by side."""
    return all(o and not s % o for s, o in zip(size, out, strict=True))


def _mean(ceil_mode: bool, count_include_pad: bool, divisor_override: Any) -> Any:
    """The name of oneDNN's algorithm, where it has one."""
    if ceil_mode or divisor_override is not None:
        return None
    return "MEAN" if count_include_pad else "MEAN_OF_INPUT"


def _pooling(
    least: int, way: str, x: Any, y: Any, windows: Windows, algorithm: str
) -> Served | None:
    """What pools such sizes, where that is worth a primitive and oneDNN knows it."""
    work = math.prod(y) * math.prod(windows.kernel)
    if not 3 <= len(x) <= _MOST_DIMS or work < least or math.prod(x) == 0:
        return None
    from dovetail_cpu.onednn import pooling

    sizes = pooling.Pooling(x, y, windows, getattr(pooling, algorithm))
    found: Served = getattr(pooling, way)(sizes)
    return found


_POOLED: Final = frozenset({float32})
_MULTIPLIED: Final = frozenset({bfloat16})  # BLAS knows the others
SERVES: Final[dict[str, tuple[frozenset[DType], Served]]] = {
    "convolution": (FORMATS, _forward),
    "convolution_transpose": (FORMATS, _transposed),
    "convolution_weight": (FORMATS, _weight),
    "bmm": (_MULTIPLIED, _bmm),
    "linear": (_MULTIPLIED, _linear),
    "matmul": (_MULTIPLIED, _matmul),
    "max_pool": (_POOLED, _max_pool),
    "max_pool_backward": (_POOLED, _max_pool_backward),
    "avg_pool": (_POOLED, _avg_pool),
    "avg_pool_backward": (_POOLED, _avg_pool_backward),
    "adaptive_avg_pool": (_POOLED, _adaptive),
    "adaptive_avg_pool_backward": (_POOLED, _adaptive_backward),
}
"""The dtypes and the makers of what serves an op; a maker takes the least work, arrays
and attributes, and gives None where it has nothing for them."""
