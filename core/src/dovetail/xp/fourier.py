"""Fourier transforms by a library's own, which have its `fft` where there is one."""

from __future__ import annotations

from typing import Any, Final

from dovetail.dtypes import COMPLEX, float32, float64
from dovetail.xp.kernels import Kernels

kernels: Final = Kernels()
install = kernels.install


@kernels("fft_complex", COMPLEX, rows=True)
def _complex(xp: Any, a: Any, dim: tuple[int, ...], inverse: bool) -> Any:
    if inverse:
        return xp.fft.ifftn(a, axes=dim, norm="forward")
    return xp.fft.fftn(a, axes=dim)


@kernels("fft_real", (float32, float64), rows=True)
def _real(xp: Any, a: Any, dim: int) -> Any:
    return xp.fft.rfft(a, axis=dim)


@kernels("fft_hermitian", COMPLEX, rows=True)
def _hermitian(xp: Any, a: Any, dim: int, n: int) -> Any:
    return xp.fft.irfft(a, n, axis=dim, norm="forward")
