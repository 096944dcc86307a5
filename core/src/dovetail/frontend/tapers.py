"""Windows of signals: torch.signal.windows, and torch's older names for some."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from dovetail.dtypes import HALF
from dovetail.engine.kinds import Kind
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.frontend.creation import Place, creates
from dovetail.ops.arithmetic import cos, exp, sin, sqrt
from dovetail.ops.bessel import i0e
from dovetail.ops.create import full, linspace
from dovetail.ops.elementwise import abs

_ROOM: Final = "signal.windows"
_HANN: Final = (0.5, 0.5)
_BLACKMAN: Final = (0.42, 0.5, 0.08)
_NUTTALL: Final = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


def _kind(name: str, place: Place, count: int) -> Kind:
    """The kind of a window of `count` numbers.

    Raises: ArgumentError for integers and complex numbers, and for counts below 0.
    """
    kind = place.kind()
    halves = not name.endswith("_window")
    if not kind.dtype.is_floating_point or (halves and kind.dtype in HALF):
        raise ArgumentError(
            name, "dtype", was=kind.dtype.name, needed="float32 or float64"
        )
    if count < 0:
        raise ArgumentError(name, "M", was=count, needed="at least 0")
    return kind


def _line(kind: Kind, count: int, start: float, step: float) -> Tensor:
    """`count` numbers from `start` on, `step` apart."""
    return linspace(start, start + (count - 1) * step, count, kind)


def _cosines(kind: Kind, count: int, a: Iterable[float], sym: bool) -> Tensor:
    if count < 2:
        return full((count,), 1, kind)
    k = _line(kind, count, 0.0, 2 * math.pi / (count - 1 if sym else count))
    y = k * 0
    for i, weight in enumerate(a):
        y = y + cos(k * i) * ((-1) ** i * weight)
    return y


@creates("general_cosine", room=_ROOM, out=False)
def general_cosine(
    place: Place, M: int, *, a: Iterable[float], sym: bool = True
) -> Tensor:
    """A sum of cosines of 0, 1, … turns, with weights `a` of alternating sign."""
    weights = list(a)
    if not weights:
        raise ArgumentError("general_cosine", "a", was=a, needed="at least one weight")
    return _cosines(_kind("general_cosine", place, M), M, weights, sym)


@creates("general_hamming", room=_ROOM, out=False)
def general_hamming(
    place: Place, M: int, *, alpha: float = 0.54, sym: bool = True
) -> Tensor:
    """alpha - (1 - alpha) cos of one turn."""
    kind = _kind("general_hamming", place, M)
    return _cosines(kind, M, (alpha, 1 - alpha), sym)


def _offer(name: str, weights: tuple[float, ...], words: str) -> None:
    def window(place: Place, M: int, *, sym: bool = True) -> Tensor:
        return _cosines(_kind(name, place, M), M, weights, sym)

    window.__doc__ = f"{words}; one period without its last point where not `sym`."
    creates(name, room=_ROOM, out=False)(window)


_offer("hann", _HANN, "Hann's window, a raised cosine")
_offer("hamming", (0.54, 0.46), "Hamming's window")
_offer("blackman", _BLACKMAN, "Blackman's window, of three cosines")
_offer("nuttall", _NUTTALL, "Nuttall's window, of four cosines")


def _triangle(kind: Kind, count: int, sym: bool) -> Tensor:
    if count < 2:
        return full((count,), 1, kind)
    return 1 - abs(_line(kind, count, -1.0, 2 / (count - 1 if sym else count)))


@creates("bartlett", room=_ROOM, out=False)
def bartlett(place: Place, M: int, *, sym: bool = True) -> Tensor:
    """A triangle between zeros."""
    return _triangle(_kind("bartlett", place, M), M, sym)


@creates("cosine", room=_ROOM, out=False)
def cosine(place: Place, M: int, *, sym: bool = True) -> Tensor:
    """Half a period of a sine."""
    kind = _kind("cosine", place, M)
    if not M:
        return full((0,), 1, kind)
    step = math.pi / (M if sym or M < 2 else M + 1)
    return sin(_line(kind, M, 0.5 * step, step))


def _middle(M: int, sym: bool) -> float:
    return (M - 1 if sym or M < 2 else M) / 2


@creates("exponential", room=_ROOM, out=False)
def exponential(
    place: Place, M: int, *, center: float | None = None, tau: float = 1.0,
    sym: bool = True,
) -> Tensor:  # fmt: skip
    """exp(-|k - center| / tau)."""
    kind = _kind("exponential", place, M)
    if tau <= 0:
        raise ArgumentError("exponential", "tau", was=tau, needed="above 0")
    if sym and center is not None:
        raise ArgumentError(
            "exponential", "center", was=center, needed="None, where it is symmetric"
        )
    if not M:
        return full((0,), 1, kind)
    middle = _middle(M, sym) if center is None else center
    return exp(-abs(_line(kind, M, -middle / tau, 1 / tau)))


@creates("gaussian", room=_ROOM, out=False)
def gaussian(place: Place, M: int, *, std: float = 1.0, sym: bool = True) -> Tensor:
    """exp(-(k - middle)² / (2 std²))."""
    kind = _kind("gaussian", place, M)
    if std <= 0:
        raise ArgumentError("gaussian", "std", was=std, needed="above 0")
    if not M:
        return full((0,), 1, kind)
    step = 1 / (std * math.sqrt(2))
    k = _line(kind, M, -_middle(M, sym) * step, step)
    return exp(-k * k)


def _kaiser(kind: Kind, count: int, beta: float, sym: bool) -> Tensor:
    """Kaiser and Schafer 1980; Bessel functions without their exponentials."""
    if count < 2:
        return full((count,), 1, kind)
    k = _line(kind, count, -1.0, 2 / (count - 1 if sym else count))
    inside = 1 - k * k
    x = sqrt(inside * (inside > 0)) * beta
    whole = i0e(full((), beta, kind))
    return i0e(x) * exp(x - beta) / whole


@creates("kaiser", room=_ROOM, out=False)
def kaiser(place: Place, M: int, *, beta: float = 12.0, sym: bool = True) -> Tensor:
    """Kaiser's window, of a Bessel function."""
    kind = _kind("kaiser", place, M)
    if beta < 0:
        raise ArgumentError("kaiser", "beta", was=beta, needed="at least 0")
    return _kaiser(kind, M, beta, sym)


def _old(
    name: str, window_length: Any, periodic: bool, place: Place,
    make: Callable[[Kind, int, bool], Tensor],
) -> Tensor:  # fmt: skip
    count = int(window_length)
    kind = _kind(name, place, count)
    return make(kind, count, not periodic) if count else full((0,), 1, kind)


@creates("hann_window", out=False)
def hann_window(place: Place, window_length: int, periodic: bool = True) -> Tensor:
    """Hann's window; `periodic` for one period of it, without its last point."""
    return _old("hann_window", window_length, periodic, place,
                lambda kind, n, sym: _cosines(kind, n, _HANN, sym))  # fmt: skip


@creates("hamming_window", out=False, nested=("periodic", "alpha", "beta"))
def hamming_window(
    place: Place, window_length: int, periodic: bool = True, alpha: float = 0.54,
    beta: float = 0.46,
) -> Tensor:  # fmt: skip
    """alpha - beta cos of one turn."""
    return _old("hamming_window", window_length, periodic, place,
                lambda kind, n, sym: _cosines(kind, n, (alpha, beta), sym))  # fmt: skip


@creates("blackman_window", out=False)
def blackman_window(place: Place, window_length: int, periodic: bool = True) -> Tensor:
    """Blackman's window, of three cosines."""
    return _old("blackman_window", window_length, periodic, place,
                lambda kind, n, sym: _cosines(kind, n, _BLACKMAN, sym))  # fmt: skip


@creates("bartlett_window", out=False)
def bartlett_window(place: Place, window_length: int, periodic: bool = True) -> Tensor:
    """A triangle between zeros."""
    return _old("bartlett_window", window_length, periodic, place, _triangle)


@creates("kaiser_window", out=False, nested=("periodic", "beta"))
def kaiser_window(
    place: Place, window_length: int, periodic: bool = True, beta: float = 12.0
) -> Tensor:
    """Kaiser's window, of a Bessel function."""
    return _old("kaiser_window", window_length, periodic, place,
                lambda kind, n, sym: _kaiser(kind, n, beta, sym))  # fmt: skip
