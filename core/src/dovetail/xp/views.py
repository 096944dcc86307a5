"""Views of NumPy-like arrays, which share memory with what they are taken of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import STORED, Sizes

View = Callable[[Any], Any]
_ALL = slice(None)


def install(table: KernelTable, xp: Any) -> None:
    """Add views to a table."""
    views: dict[str, Callable[..., View]] = {
        "permute": _permute, "transpose": _transpose, "unsqueeze": _unsqueeze,
        "squeeze": _squeeze, "expand": _expand(xp), "basic_index": _basic_index,
    }  # fmt: skip
    table.add("t", _matrix_transposed, dtypes=STORED)
    for name, kernel in views.items():
        table.add(name, kernel, dtypes=STORED, binds=True)


def _permute(dims: Sizes) -> View:
    return lambda a: a.transpose(dims)


def _transpose(dim0: int, dim1: int) -> View:
    return lambda a: a.swapaxes(dim0, dim1) if a.ndim else a[...]


def _matrix_transposed(a: Any) -> Any:
    if a.ndim > 2:
        raise ValueError(a.shape)
    return a.T


def _unsqueeze(dim: int) -> View:
    index = (*(_ALL,) * dim, None, ...)
    return lambda a: a[index]


def _squeeze(dim: Sizes | None) -> View:
    def squeeze(a: Any) -> Any:
        shape = a.shape
        if not shape:
            return a[...]
        dims = range(len(shape)) if dim is None else dim
        return a[
            (*[0 if d in dims and n == 1 else _ALL for d, n in enumerate(shape)], ...)
        ]

    return squeeze


def _expand(xp: Any) -> Callable[..., View]:
    def bind(size: Sizes) -> View:
        none, is_open = (0,) * len(size), -1 in size

        def expand(a: Any) -> Any:
            """A buffer with strides of 0, where that is all it takes; else refused."""
            if not (a.ndim or is_open):  # the gradient of a sum
                return xp.ndarray(size, a.dtype, a, 0, none)
            missing = len(size) - a.ndim
            if is_open and -1 in size[:missing]:
                raise ValueError(size)
            steps = [0] * missing
            sizes = list(size)
            for d, (have, step) in enumerate(
                zip(a.shape, a.strides, strict=True), missing
            ):
                if have == sizes[d] or sizes[d] == -1:
                    sizes[d] = have
                    steps.append(step)
                elif have == 1:
                    steps.append(0)
                else:
                    raise ValueError(size)
            return xp.ndarray(sizes, a.dtype, a, 0, steps)

        return expand

    return bind


def _basic_index(index: Any) -> View:
    whole = index if type(index) is slice or Ellipsis in index else (*index, ...)
    return lambda a: a[whole]
