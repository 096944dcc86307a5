"""Fourier transforms, as the array API standard has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import dovetail.frontend.fourier  # noqa: F401 (offers its names)
from dovetail.array_api.arrays import conforming
from dovetail.dtypes import DType
from dovetail.engine.public import NAMESPACES

_fft: Final = NAMESPACES["fft"]


def _line(name: str) -> Callable[..., Any]:
    def function(
        x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Any:
        return _fft[name](x, n, axis, norm)

    return _named(name, function)


def _space(name: str) -> Callable[..., Any]:
    def function(
        x: Any, /, *, s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None, norm: str = "backward",
    ) -> Any:  # fmt: skip
        return _fft[name](x, s, axes, norm)

    return _named(name, function)


def _moved(name: str) -> Callable[..., Any]:
    def function(x: Any, /, *, axes: int | Sequence[int] | None = None) -> Any:
        return _fft[name](x, axes)

    return _named(name, function)


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = _fft[name].__doc__
    return conforming(function)


fft = _line("fft")
ifft = _line("ifft")
rfft = _line("rfft")
irfft = _line("irfft")
hfft = _line("hfft")
ihfft = _line("ihfft")
fftn = _space("fftn")
ifftn = _space("ifftn")
rfftn = _space("rfftn")
irfftn = _space("irfftn")
fftshift = _moved("fftshift")
ifftshift = _moved("ifftshift")


@conforming
def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Any = None
) -> Any:
    """The frequencies of a transform of `n` samples, `d` apart."""
    return _fft["fftfreq"](n, d, dtype=dtype, device=device)


@conforming
def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Any = None
) -> Any:
    """The frequencies of a transform of `n` real samples, `d` apart."""
    return _fft["rfftfreq"](n, d, dtype=dtype, device=device)
