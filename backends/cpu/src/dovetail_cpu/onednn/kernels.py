"""Kernels of oneDNN in front of others, for calls that are worth a primitive."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.device_api import KernelTable
from dovetail.dtypes import float32
from dovetail.errors import NotSupported
from dovetail.xp.windows import Windows
from dovetail_cpu.onednn.library import SWITCH, why_not

if TYPE_CHECKING:
    from dovetail_cpu.onednn.convolution import Convolution

LEAST: Final = 1 << 16
"""Products of numbers in a call from which on a primitive is made for its sizes, which
takes a millisecond."""

_MOST_DIMS: Final = 5  # batch, channels, and three of space
_MOST_SIZES: Final = 128  # for which an op with its attributes keeps primitives

Array = np.ndarray[Any, Any]
Served = Callable[..., Any]


def least_work() -> int:
    """`LEAST`, or the number that `DOVETAIL_ONEDNN` has."""
    chosen = os.environ.get(SWITCH, "")
    return int(chosen) if chosen.isdecimal() else LEAST


def install(table: KernelTable, plain: KernelTable) -> None:
    """Add the kernels of a table to another one, with oneDNN in front of some.

    Each stays one kernel, of the rank that it had: what a plug-in adds goes before it.
    """
    serve = SERVES if why_not() is None else {}
    least = least_work()
    for op in plain.names():
        for own in plain.rivals(op):
            options = own._asdict()
            for name in ("op", "function", "owner", "dtypes"):
                del options[name]
            served = own.dtypes & ({float32} if op in serve else set())
            if served:
                bind = _bound(serve[op], own.function, least)
                table.add(op, bind, dtypes=served, **options | {"binds": True})
            if own.dtypes - served:
                table.add(op, own.function, dtypes=own.dtypes - served, **options)


def _bound(make: Served, own: Served, least: int) -> Callable[..., BySize]:
    def bind(**attributes: Any) -> BySize:
        return BySize(make, own, attributes, least)

    return bind


class BySize:
    """An op with its attributes, made into primitives for each set of sizes.

    Args:
        make: takes `least`, arrays and attributes, and gives what serves such arrays,
            or None.
        own: what serves all others.
        attributes: of the op.
        least: products that are worth a primitive.
    """

    def __init__(
        self, make: Served, own: Served, attributes: dict[str, Any], least: int
    ) -> None:
        self.make, self.own, self.attributes = make, own, attributes
        self.least = least
        self.made: dict[Any, Served | None] = {}

    def __call__(self, *arrays: Any) -> Any:
        """The result of the op."""
        key = tuple([None if a is None else a.shape for a in arrays])
        try:
            found = self.made[key]
        except KeyError:
            found = self._make(arrays, key)
        if found is not None:
            y = found(*[None if a is None else row_major(a) for a in arrays])
            if y is not None:
                return y
        return self.own(*arrays, **self.attributes)

    def _make(self, arrays: tuple[Any, ...], key: Any) -> Served | None:
        if len(self.made) >= _MOST_SIZES:
            self.made.clear()
        found = None
        if self._fits(arrays):
            try:
                found = self.make(self.least, *arrays, **self.attributes)
            except NotSupported:
                found = None
        self.made[key] = found
        return found

    def _fits(self, arrays: tuple[Any, ...]) -> bool:
        """Whether none is empty."""
        return all(a is None or a.size for a in arrays)


def row_major(a: Array) -> Array:
    """An array without gaps, and the same where it is one."""
    return a if a.flags.c_contiguous else np.ascontiguousarray(a)


def _forward(
    least: int, x: Array, w: Array, b: Array | None, stride: Any, padding: Any,
    dilation: Any, groups: int,
) -> Served | None:  # fmt: skip
    windows = Windows(w.shape[2:], stride, padding, dilation)
    y = (x.shape[0], w.shape[0], *windows.places(x.shape[2:]))
    sizes = _convolution(least, x.shape, w.shape, y, windows, groups)
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
    sizes = _convolution(least, x, w.shape, dy.shape, windows, groups)
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
    sizes = _convolution(least, x.shape, w, dy.shape, windows, groups)
    if sizes is None:
        return None
    from dovetail_cpu.onednn.convolution import WeightGradient

    return WeightGradient(sizes)


def _convolution(
    least: int, x: Any, w: Any, y: Any, windows: Windows, groups: int
) -> Convolution | None:
    """The sizes of a convolution that is worth a primitive and that oneDNN knows."""
    known = len(x) <= _MOST_DIMS and math.prod(x) > 0
    if not known or math.prod(y) * math.prod(w[1:]) < least:
        return None
    # With LLVM's text: nothing that a small program needs.
    from dovetail_cpu.onednn.convolution import Convolution

    return Convolution(x, w, y, windows, groups)


SERVES: Final[dict[str, Served]] = {
    "convolution": _forward,
    "convolution_transpose": _transposed,
    "convolution_weight": _weight,
}
