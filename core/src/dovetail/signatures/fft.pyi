"""fft.

Written by `python -m dovetail.signatures`.
"""

from collections.abc import Sequence

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.memory_formats import layout

def fft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The discrete Fourier transform along `dim`, of `n` numbers."""

def fft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The discrete Fourier transform along two dims, of `s` numbers."""

def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The frequencies of a transform of `n` numbers that are `d` apart."""

def fftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The discrete Fourier transform along several dims (all unless given), of
    `s` numbers.
    """

def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """`input` with the frequency 0 in the middle of each of `dim`."""

def hfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The real transform of a signal that is Hermitian, given by its half,
    along `dim`, of `n` numbers.
    """

def hfft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The real transform of a signal that is Hermitian, given by its half,
    along two dims, of `s` numbers.
    """

def hfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The real transform of a signal that is Hermitian, given by its half,
    along several dims (all unless given), of `s` numbers.
    """

def ifft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The inverse discrete Fourier transform along `dim`, of `n` numbers."""

def ifft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The inverse discrete Fourier transform along two dims, of `s` numbers."""

def ifftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The inverse discrete Fourier transform along several dims (all unless
    given), of `s` numbers.
    """

def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """What fftshift makes `input` of."""

def ihfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The inverse of hfft: the half of the inverse transform of real numbers,
    along `dim`, of `n` numbers.
    """

def ihfft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The inverse of hfft: the half of the inverse transform of real numbers,
    along two dims, of `s` numbers.
    """

def ihfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The inverse of hfft: the half of the inverse transform of real numbers,
    along several dims (all unless given), of `s` numbers.
    """

def irfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The real numbers whose transform has `input` as its half, along `dim`,
    of `n` numbers.
    """

def irfft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The real numbers whose transform has `input` as its half, along two
    dims, of `s` numbers.
    """

def irfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The real numbers whose transform has `input` as its half, along several
    dims (all unless given), of `s` numbers.
    """

def rfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The transform of real numbers, the half that is not redundant, along
    `dim`, of `n` numbers.
    """

def rfft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The transform of real numbers, the half that is not redundant, along two
    dims, of `s` numbers.
    """

def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The frequencies of the half that rfft gives of `n` numbers that are `d`
    apart.
    """

def rfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The transform of real numbers, the half that is not redundant, along
    several dims (all unless given), of `s` numbers.
    """
