"""Convolutions and their gradients by cuDNN; the shared kernels serve what it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.device_api import Kernel, KernelTable
from dovetail.dtypes import by_name
from dovetail.xp.windows import Windows
from dovetail_cupy.cudnn import DTYPES as NAMES
from dovetail_cupy.cudnn import Cudnn, Shape

Dims = tuple[int, ...]
DTYPES: Final = frozenset(map(by_name, NAMES))
"""The dtypes of convolutions."""
_SPACE: Final = (2, 3)  # dims that the library knows


def install(table: KernelTable, xp: Any, dnn: Cudnn) -> None:
    """Put convolutions before those of a table."""
    for op in ("convolution", "convolution_transpose", "convolution_weight"):
        others = table.rivals(op)
        kernels = Convolutions(xp, dnn, others)
        table.add(op, getattr(kernels, op), dtypes=DTYPES, rank=1)


class Convolutions:
    """The kernels, each a method of the name of its op.

    Args:
        xp: makes and copies arrays.
        dnn: convolves.
        others: kernels of one op, which serve what the library has none for.
    """

    def __init__(self, xp: Any, dnn: Cudnn, others: list[Kernel]) -> None:
        self._xp = xp
        self._dnn = dnn
        self._others = {d: k.function for k in reversed(others) for d in k.dtypes}

    def convolution(
        self, x: Any, weight: Any, b: Any, stride: Dims, padding: Dims,
        dilation: Dims, groups: int,
    ) -> Any:  # fmt: skip
        """Cross-correlation of [n, in, *spatial] with [out, in / groups, *kernel]."""
        w = Windows(weight.shape[2:], stride, padding, dilation)
        size = (x.shape[0], weight.shape[0], *w.places(x.shape[2:]))

        def run(shape: Shape, y: Any) -> bool:
            return self._dnn.forward(shape, *self._rows(x, weight), y)

        y = self._made(size, x.shape, weight.shape, size, w, groups, x, run)
        if y is None:
            return self._other(x)(x, weight, b, stride, padding, dilation, groups)
        if b is not None:
            self._xp.add(y, b.reshape(-1, *[1] * len(stride)), y)
        return y

    def convolution_transpose(
        self, x: Any, weight: Any, size: Dims, stride: Dims, padding: Dims,
        dilation: Dims, groups: int,
    ) -> Any:  # fmt: skip
        """The adjoint of convolution in its input: [batch, out, *places] to `size`."""
        w = Windows(weight.shape[2:], stride, padding, dilation)
        whole = (x.shape[0], weight.shape[1] * groups, *size)

        def run(shape: Shape, dx: Any) -> bool:
            return self._dnn.data(shape, *self._rows(weight, x), dx)

        dx = self._made(whole, whole, weight.shape, x.shape, w, groups, x, run)
        if dx is None:
            other = self._other(x)
            return other(x, weight, size, stride, padding, dilation, groups)
        return dx

    def convolution_weight(
        self, x: Any, dy: Any, kernel: Dims, stride: Dims, padding: Dims,
        dilation: Dims, groups: int,
    ) -> Any:  # fmt: skip
        """The adjoint of convolution in its weight: what each tap met, summed."""
        w = Windows(kernel, stride, padding, dilation)
        size = (dy.shape[1], x.shape[1] // groups, *kernel)

        def run(shape: Shape, dw: Any) -> bool:
            return self._dnn.weight(shape, *self._rows(x, dy), dw)

        dw = self._made(size, x.shape, size, dy.shape, w, groups, x, run)
        if dw is None:
            other = self._other(x)
            return other(x, dy, kernel, stride, padding, dilation, groups)
        return dw

    def _rows(self, *arrays: Any) -> list[Any]:
        return [self._xp.ascontiguousarray(a) for a in arrays]

    def _other(self, x: Any) -> Callable[..., Any]:
        found: Callable[..., Any] = self._others[by_name(x.dtype.name)]
        return found

    def _made(
        self, size: Dims, x: Dims, w: Dims, y: Dims, how: Windows, groups: int,
        like: Any, run: Callable[[Shape, Any], bool],
    ) -> Any:  # fmt: skip
        """What the library makes of an array of a size; None where it has no way."""
        steps = tuple(how.stride), tuple(how.padding), tuple(how.dilation)
        if len(how.stride) == 1:  # lines are images of one row
            x, w, y = (_as_image(dims) for dims in (x, w, y))
            steps = (1, *steps[0]), (0, *steps[1]), (1, *steps[2])
        if len(steps[0]) not in _SPACE or min(*x, *w, *y) < 1 or not _is_whole(x, w, y):
            return None
        made = self._xp.empty(size, like.dtype)
        shape = Shape(like.dtype.name, x, w, y, *steps, groups)
        return made if run(shape, made) else None


def _as_image(dims: Dims) -> Dims:
    return (*dims[:2], 1, *dims[2:])


def _is_whole(*shapes: Dims) -> bool:
    """Whether all shapes are of arrays of as many dims: others, core words."""
    return len({len(s) for s in shapes}) == 1
