"""Transforms of short pieces of signals, and back."""

from __future__ import annotations

from typing import Any

from dovetail.engine.level_hooks import of_all_rows
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.frontend.complex import view_as_real
from dovetail.frontend.pad import pad
from dovetail.ops.create import full, zeros_of
from dovetail.ops.formats import cast
from dovetail.ops.fourier import fft_complex, fft_hermitian, fft_real
from dovetail.ops.pad import constant_pad
from dovetail.ops.view import expand, transpose, unsqueeze


def _window(
    name: str, window: Tensor | None, length: int, n_fft: int, like: Any
) -> Any:
    """The window in the middle of `n_fft` zeros; ones where none is given."""
    if not 0 < length <= n_fft:
        raise ArgumentError(
            name, "win_length", was=length, needed=f"from 1 to n_fft, {n_fft}"
        )
    if window is None:
        window = full((length,), 1, like._kind.with_dtype(like.dtype.real))
    elif window.ndim != 1 or window.shape[0] != length:
        raise ShapeError(
            name, "window", was=f"of shape {tuple(window.shape)}", needed=f"({length},)"
        )
    left = (n_fft - length) // 2
    if length == n_fft:
        return window
    return constant_pad(window, (left, n_fft - length - left))


def _sizes(name: str, n_fft: int, hop: int | None, length: int | None) -> Any:
    hop = n_fft // 4 if hop is None else hop
    if n_fft <= 0 or hop <= 0:
        raise ArgumentError(
            name, "hop_length" if n_fft > 0 else "n_fft",
            was=hop if n_fft > 0 else n_fft, needed="above 0",
        )  # fmt: skip
    return hop, n_fft if length is None else length


def _check_signal(x: Tensor, center: bool, align_to_window: bool | None) -> None:
    """Raise for what `stft` does not transform."""
    if align_to_window is not None and center:
        raise ArgumentError(
            "stft", "align_to_window", was=align_to_window, needed="center=False"
        )
    if x.ndim not in (1, 2) or not x.dtype.is_inexact:
        raise ShapeError(
            "stft", "input", was=f"{x.ndim}-d {x.dtype.name}",
            needed="one or two dims of floating point or complex numbers",
        )  # fmt: skip


@public("torch.stft Tensor.stft", autocast="float32")
def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None,
    win_length: int | None = None, window: Tensor | None = None, center: bool = True,
    pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """Fourier transforms of pieces of `n_fft` numbers, `hop_length` apart.

    Args:
        input: [time] or [batch, time].
        window: what each piece is multiplied by, in the middle of zeros.
        center: pieces are centred on their time; the signal is padded at both ends.
        normalized: divide by the root of `n_fft`.
        onesided: only the half that is not redundant, of real signals.
        return_complex: False for real and imaginary parts along a last dim.

    Returns: [..., frequencies, pieces].
    """
    name = "stft"
    mixed = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None and not mixed:
        raise ArgumentError(
            name, "return_complex", was="missing for a real input", needed="True",
            remedy="torch.view_as_real(stft(…, return_complex=True)) has the parts",
        )  # fmt: skip
    _check_signal(input, center, align_to_window)
    hop, length = _sizes(name, n_fft, hop_length, win_length)
    half = not mixed if onesided is None else onesided
    if half and mixed:
        raise ArgumentError(
            name, "onesided", was=True, needed="False for complex numbers"
        )
    x = input if input.ndim == 2 else unsqueeze(input, 0)
    if center:
        edge = n_fft // 2
        x = pad(unsqueeze(x, 1), (edge, edge), pad_mode).squeeze(1)
    if not 0 < n_fft <= x.shape[-1]:
        raise ArgumentError(
            name, "n_fft", was=n_fft, needed=f"from 1 to {x.shape[-1]}, the length"
        )
    taper = _window(name, window, length, n_fft, input)
    if align_to_window is False and length < n_fft:
        left = (n_fft - length) // 2
        x = constant_pad(x, (0, 0, left, n_fft - length - left))
    pieces = x.unfold(-1, n_fft, hop) * taper
    if half:
        y = fft_real(pieces, 2)
    else:
        y = fft_complex(cast(pieces, pieces.dtype.complex), (2,))
    y = y * n_fft**-0.5 if normalized else y
    y = transpose(y, 1, 2)
    y = y if input.ndim == 2 else y.squeeze(0)
    return view_as_real(y) if return_complex is False else y


def _overlapped(pieces: Tensor, hop: int) -> Tensor:
    """Pieces [batch, count, n] added where they lie, `hop` apart."""
    batch, count, n = pieces.shape
    total = (count - 1) * hop + n
    at = (
        pieces.new_zeros(1)
        .long()
        .new_tensor([t * hop + k for t in range(count) for k in range(n)])
    )
    flat = pieces.reshape(batch, count * n)
    return zeros_of(pieces, (batch, total)).index_add(1, at, flat)


def _pieces(x: Tensor, n_fft: int, is_complex: bool) -> Tensor:
    """Pieces [batch, count, n_fft] of which there are frequencies, not yet scaled."""
    if is_complex:
        return fft_complex(x, (2,), True)
    return fft_hermitian(x[..., : n_fft // 2 + 1], 2, n_fft)


@public("torch.istft Tensor.istft")
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None,
    win_length: int | None = None, window: Tensor | None = None, center: bool = True,
    normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal whose `stft` is nearest (Griffin and Lim 1984).

    Raises: ArgumentError where windows do not cover the whole signal.
    """
    name = "istft"
    hop, width = _sizes(name, n_fft, hop_length, win_length)
    if not input.dtype.is_complex or input.ndim not in (2, 3) or not input.numel():
        raise ShapeError(
            name, "input", was=f"{tuple(input.shape)} {input.dtype.name}",
            needed="[frequencies, pieces] or [batch, frequencies, pieces], complex",
        )  # fmt: skip
    x = input if input.ndim == 3 else unsqueeze(input, 0)
    half = x.shape[1] != n_fft if onesided is None else onesided
    if half and return_complex:
        raise ArgumentError(name, "onesided", was=True, needed="a real signal")
    frequencies = n_fft // 2 + 1 if half else n_fft
    if x.shape[1] != frequencies:
        raise ShapeError(
            name, "input", was=f"{x.shape[1]} frequencies", needed=f"{frequencies}"
        )
    x = transpose(x, 1, 2)
    pieces = _pieces(x, n_fft, return_complex)
    pieces = pieces * (n_fft**-0.5 if normalized else 1 / n_fft)
    taper = _window(name, window, width, n_fft, input)
    y = _overlapped(pieces * taper, hop)
    count = x.shape[1]
    squares = expand((taper * taper).reshape(1, 1, n_fft), (1, count, n_fft))
    weight = _overlapped(squares, hop)
    start = n_fft // 2 if center else 0
    if length is not None:
        end = start + length
    else:
        end = y.shape[1] - (n_fft // 2 if center else 0)
    y, weight = y[:, start:end], weight[:, start:end]
    if bool((abs(of_all_rows(weight.detach())) <= 1e-11).any()):
        raise ArgumentError(
            name, "window", was="0 where pieces meet",
            needed="windows that overlap: window overlap add min is too small",
        )  # fmt: skip
    y = y / weight
    if length is not None and y.shape[1] < length:
        y = constant_pad(y, (0, 0, 0, length - y.shape[1]))
    return y if input.ndim == 3 else y.squeeze(0)
