"""cuBLAS's products by NumPy, on the host's memory: as addresses and steps say."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np

from dovetail_cupy.cublas import FORMATS, Format, Lies

_BY_TYPE = {fmt.data: name for name, fmt in FORMATS.items()}


class HostBlas:
    """Multiplies matrices that lie column by column, as cuBLAS defines it.

    Attributes:
        calls: how many products were made, of batches as one.
    """

    def __init__(self) -> None:
        self.calls = 0

    def gemm(
        self, fmt: Format, sizes: tuple[int, int, int], at: tuple[int, int, int],
        lie: tuple[Lies, Lies, Lies], count: int, adds: bool, factor: float = 1.0,
    ) -> None:  # fmt: skip
        assert factor  # cuBLAS reads nothing else
        (m, n, k), (a, b, c) = sizes, zip(at, lie, strict=True)
        self.calls += 1
        for i in range(count):
            left = _matrix(fmt.data, a, i, (k, m) if lie[0].turned else (m, k))
            right = _matrix(fmt.data, b, i, (n, k) if lie[1].turned else (k, n))
            target = _matrix(fmt.result, c, i, (m, n))
            wide = fmt.scale
            left, right = left.astype(wide), right.astype(wide)
            left = left.T if lie[0].turned else left
            y = left @ (right.T if lie[1].turned else right)
            y *= y.dtype.type(factor)
            target[...] = (y + target.astype(wide) if adds else y).astype(target.dtype)


def _matrix(kind: int, side: tuple[int, Lies], at: int, shape: tuple[int, int]) -> Any:
    """The memory of one matrix: columns `length` elements apart."""
    dtype = np.dtype(_BY_TYPE[kind])
    rows, columns = shape
    address, lies = side
    assert lies.length >= rows  # cuBLAS refuses others
    start = address + at * lies.step * dtype.itemsize
    size = ((columns - 1) * lies.length + rows) * dtype.itemsize
    raw = np.frombuffer((ctypes.c_char * size).from_address(start), dtype)
    steps = (dtype.itemsize, lies.length * dtype.itemsize)
    return np.lib.stride_tricks.as_strided(raw, shape, steps)


class Addressed(np.ndarray):  # type: ignore[type-arg]
    """NumPy's arrays with the address where CuPy's have it."""

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)


class AddressedNumpy:
    """NumPy, as far as products need it, with such arrays."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)

        def call(*args: Any, **options: Any) -> Any:
            return addressed(function(*args, **options))

        return call


def addressed(a: Any) -> Any:
    """The array with an address."""
    return a.view(Addressed) if isinstance(a, np.ndarray) else a
