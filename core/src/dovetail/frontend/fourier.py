"""torch.fft: which lines are transformed, at which length and in which scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from dovetail.dtypes import HALF, get_default_dtype
from dovetail.engine.integers import axis_set, integers
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DimError, DTypeError
from dovetail.frontend.creation import Place, creates
from dovetail.ops.create import arange
from dovetail.ops.formats import cast, conj
from dovetail.ops.fourier import fft_complex, fft_hermitian, fft_real
from dovetail.ops.pad import constant_pad
from dovetail.ops.shape import roll

Norm = str | None
_LAST_TWO: Final = (-2, -1)


class _Lines(NamedTuple):
    """What a transform is done to: its dims in order, and how many numbers of each."""

    dims: tuple[int, ...]
    sizes: tuple[int, ...]


def _factor(name: str, norm: Norm, count: int, inverse: bool) -> float:
    """What torch's `norm` divides by: `backward` in the inverse transform alone."""
    if norm is None or norm == "backward":
        return 1 / count if inverse else 1.0
    if norm == "forward":
        return 1.0 if inverse else 1 / count
    if norm == "ortho":
        return 1 / math.sqrt(count)
    raise ArgumentError(
        name, "norm", was=repr(norm), needed="'backward', 'forward' or 'ortho'",
        remedy="leave it out for 'backward'",
    )  # fmt: skip


def _inexact(name: str, x: Tensor, *, real: bool = False) -> Tensor:
    """`input` as numbers that are transformed."""
    if x.dtype in HALF:
        raise DTypeError(
            name, "input", was=x.dtype.name, needed="a wider format",
            remedy="cast it with .float()",
        )  # fmt: skip
    if real and x.dtype.is_complex:
        raise DTypeError(
            name, "input", was=x.dtype.name, needed="real numbers",
            remedy="take the parts apart with .real and .imag",
        )  # fmt: skip
    return x if x.dtype.is_inexact else cast(x, get_default_dtype())


def _complex(name: str, x: Tensor) -> Tensor:
    x = _inexact(name, x)
    return x if x.dtype.is_complex else cast(x, x.dtype.complex)


def _lines(name: str, x: Tensor, s: Any, dim: Any) -> _Lines:
    """The lines of a transform of several dims; without `dim`, the last ones of `s`."""
    given = None if s is None else integers(name, "s", s, x.ndim)
    if dim is None:
        count = x.ndim if given is None else len(given)
        if count > x.ndim:
            raise ArgumentError(
                name, "s", was=f"{count} sizes", needed=f"at most {x.ndim}, its dims"
            )
        dims = tuple(range(x.ndim - count, x.ndim))
    else:
        dims = axis_set(name, "dim", dim, x.ndim)
        if dims and not x.ndim:
            raise DimError(name, "dim", was=dim, needed="none: input has no dims")
    if given is not None and len(given) != len(dims):
        raise ArgumentError(
            name, "s", was=f"{len(given)} sizes for {len(dims)} dims",
            needed="one size for each dim",
        )  # fmt: skip
    sizes = [x.shape[d] if x.ndim else 0 for d in dims] if given is None else [
        x.shape[d] if n == -1 else n for n, d in zip(given, dims, strict=True)
    ]  # fmt: skip
    return _Lines(dims, _counted(name, sizes))


def _line(name: str, x: Tensor, n: int | None, dim: int) -> _Lines:
    """The lines along one dim."""
    if not x.ndim:
        raise DimError(name, "dim", was=dim, needed="a dim, of which input has none")
    (along,) = axis_set(name, "dim", dim, x.ndim)
    size = x.shape[along] if n is None else n
    return _Lines((along,), _counted(name, [size]))


def _counted(name: str, sizes: Sequence[int]) -> tuple[int, ...]:
    for n in sizes:
        if n < 1:
            raise ArgumentError(
                name, "n", was=f"{n} data points", needed="at least one in each line"
            )
    return tuple(sizes)


def _fitted(x: Tensor, lines: _Lines) -> Tensor:
    """`x` cut, or filled with zeros behind, to the sizes of the lines."""
    for d, n in zip(*lines, strict=True):
        if x.shape[d] != n:
            before, after = (0, 0) * d, (0, 0) * (x.ndim - 1 - d)
            x = constant_pad(x, (*before, 0, n - x.shape[d], *after))
    return x


def _scaled(y: Tensor, factor: float) -> Tensor:
    return y if factor == 1 else y * factor


def _of_complex(name: str, x: Tensor, lines: _Lines, norm: Norm, back: bool) -> Tensor:
    x = _complex(name, x)
    factor = _factor(name, norm, math.prod(lines.sizes), back)
    x = _fitted(x, lines)
    if not lines.dims:
        return x
    return _scaled(fft_complex(x, lines.dims, back), factor)


def _of_real(name: str, x: Tensor, lines: _Lines, norm: Norm, back: bool) -> Tensor:
    """The half of a transform of real numbers; back, its conjugate."""
    x = _inexact(name, x, real=True)
    _some(name, lines)
    factor = _factor(name, norm, math.prod(lines.sizes), back)
    *others, last = lines.dims
    y = fft_real(_fitted(x, lines), last)
    y = conj(y) if back else y
    if others:
        y = fft_complex(y, tuple(others), back)
    return _scaled(y, factor)


def _to_real(name: str, x: Tensor, lines: _Lines, norm: Norm, back: bool) -> Tensor:
    """Real numbers from the half of what is Hermitian; forward, of its conjugate."""
    x = _complex(name, x)
    _some(name, lines)
    factor = _factor(name, norm, math.prod(lines.sizes), back)
    n = lines.sizes[-1]
    x = _fitted(x, lines._replace(sizes=(*lines.sizes[:-1], n // 2 + 1)))
    *others, last = lines.dims
    if others:
        x = fft_complex(x, tuple(others), back)
    return _scaled(fft_hermitian(x if back else conj(x), last, n), factor)


def _some(name: str, lines: _Lines) -> None:
    if not lines.dims:
        raise ArgumentError(
            name, "dim", was="no dim", needed="at least one dim of real numbers"
        )


def _doubled(name: str, lines: _Lines, last: int | None) -> _Lines:
    """Lines of a result whose last dim, where it is not given, has 2 (m - 1)."""
    if last not in (None, -1) or not lines.dims:
        return lines
    sizes = [*lines.sizes[:-1], 2 * (lines.sizes[-1] - 1)]
    return lines._replace(sizes=_counted(name, sizes))


# The kinds of transform: what it is of, and whether it is the inverse one.
_KINDS: Final = {
    "fft": (_of_complex, False), "ifft": (_of_complex, True),
    "rfft": (_of_real, False), "irfft": (_to_real, True),
    "hfft": (_to_real, False), "ihfft": (_of_real, True),
}  # fmt: skip
_DOCS: Final = {
    "fft": "The discrete Fourier transform",
    "ifft": "The inverse discrete Fourier transform",
    "rfft": "The transform of real numbers, the half that is not redundant,",
    "irfft": "The real numbers whose transform has `input` as its half,",
    "hfft": "The real transform of a signal that is Hermitian, given by its half,",
    "ihfft": "The inverse of hfft: the half of the inverse transform of real numbers,",
}  # fmt: skip


def _along_one(kind: str) -> Callable[..., Tensor]:
    """A transform along one dim."""
    apply, back = _KINDS[kind]

    def one(
        input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None
    ) -> Tensor:
        lines = _line(kind, input, n, dim)
        if apply is _to_real:
            lines = _doubled(kind, lines, n)
        return apply(kind, input, lines, norm, back)

    return one


def _along_several(kind: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """A transform along two dims, and one along any."""
    apply, back = _KINDS[kind]

    def several(name: str, input: Tensor, s: Any, dim: Any, norm: Norm) -> Tensor:
        lines = _lines(name, input, s, dim)
        if apply is _to_real:
            last = s[-1] if isinstance(s, tuple | list) and s else s
            lines = _doubled(name, lines, last or None)
        return apply(name, input, lines, norm, back)

    def two(
        input: Tensor, s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = _LAST_TWO,
        norm: str | None = None,
    ) -> Tensor:  # fmt: skip
        return several(f"{kind}2", input, s, dim, norm)

    def many(
        input: Tensor, s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None, norm: str | None = None,
    ) -> Tensor:  # fmt: skip
        return several(f"{kind}n", input, s, dim, norm)

    return two, many


def _offer(kind: str) -> None:
    """Offer a transform along one dim, two, and several."""
    two, many = _along_several(kind)
    for name, function, where in (
        (kind, _along_one(kind), "along `dim`, of `n` numbers"),
        (f"{kind}2", two, "along two dims, of `s` numbers"),
        (f"{kind}n", many, "along several dims (all unless given), of `s` numbers"),
    ):
        function.__doc__ = f"""{_DOCS[kind]} {where}.

        `norm` divides by the count in the inverse transform ("backward"), in the
        forward one ("forward"), or by its root in each ("ortho").
        """
        public(f"fft.{name}", out=True, autocast="float32")(function)


for _kind in _KINDS:
    _offer(_kind)


def _places(input: Tensor, dim: Any) -> tuple[int, ...]:
    dims = tuple(range(input.ndim)) if dim is None else dim
    return axis_set("fftshift", "dim", dims, input.ndim) if input.ndim else ()


@public("fft.fftshift")
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """`input` with the frequency 0 in the middle of each of `dim`."""
    dims = _places(input, dim)
    return roll(input, tuple(input.shape[d] // 2 for d in dims), dims)


@public("fft.ifftshift")
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """What fftshift makes `input` of."""
    dims = _places(input, dim)
    return roll(input, tuple((input.shape[d] + 1) // 2 for d in dims), dims)


def _frequencies(name: str, place: Place, n: int, d: float, half: bool) -> Tensor:
    kind = place.kind()
    if not kind.dtype.is_inexact:
        raise DTypeError(
            name, "dtype", was=kind.dtype.name, needed="a floating point dtype"
        )
    if n < 0:
        raise ArgumentError(name, "n", was=n, needed="at least 0")
    if half:
        return arange(0, 1, n // 2 + 1, kind) * (1 / (n * d))
    first = arange(0, 1, n, kind)
    return (first - (first >= (n + 1) // 2) * n) * (1 / (n * d) if n else 1.0)


@creates("fftfreq", room="fft")
def fftfreq(place: Place, n: int, d: float = 1.0) -> Tensor:
    """The frequencies of a transform of `n` numbers that are `d` apart."""
    return _frequencies("fftfreq", place, n, d, False)


@creates("rfftfreq", room="fft")
def rfftfreq(place: Place, n: int, d: float = 1.0) -> Tensor:
    """The frequencies of the half that rfft gives of `n` numbers that are `d` apart."""
    return _frequencies("rfftfreq", place, n, d, True)
