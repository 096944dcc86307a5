"""torch's names for complex numbers."""

from __future__ import annotations

from typing import Any

from dovetail.dtypes import bfloat16, float16, float32, float64
from dovetail.engine.public import public
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, extend
from dovetail.errors import DTypeError, ShapeError
from dovetail.frontend.complex_views import IMAG, JOINED, PAIRS, REAL
from dovetail.ops import complex as z
from dovetail.ops.arithmetic import cos, sin
from dovetail.ops.formats import conj as conjugate
from dovetail.ops.rounding import nan_to_num as _nan_to_num


@public("conj")
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is its own."""
    return conjugate(input)


@public("resolve_conj resolve_neg")
def resolved(input: Tensor) -> Tensor:
    """`input` itself: conjugates and negations are computed at once."""
    return input


@public("is_conj is_neg")
def is_lazy(input: Tensor) -> bool:
    """False: conjugates and negations are computed at once."""
    return False


@public("torch.real")
def real(input: Tensor) -> Tensor:
    """The real part, a view of its memory; a real tensor is its own.

    >>> x = torch.tensor([1 + 2j])
    >>> _ = torch.real(x).mul_(3)
    >>> x
    tensor([3.+2.j])
    """
    return REAL.of(input) if input.dtype.is_complex else input


@public("torch.imag")
def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, a view of its memory."""
    return IMAG.of(input) if input.dtype.is_complex else z.imag(input)


def _set_real(self: Tensor, value: Any) -> None:
    _written(real(self), value)


def _set_imag(self: Tensor, value: Any) -> None:
    _written(imag(self), value)


def _written(part: Tensor, value: Any) -> None:
    part[...] = value  # a tensor, or a number


extend(real=property(real, _set_real), imag=property(imag, _set_imag))


@public("torch.complex", out="same")
def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """real + imag * i.

    Raises:
        DTypeError: the parts differ in dtype.
    """
    if real.dtype is not imag.dtype:
        raise DTypeError(
            "complex", "imag", was=imag.dtype.name,
            needed=f"{real.dtype.name} as in real",
        )  # fmt: skip
    return z.complex(real, imag)


@public("torch.polar", out="same", autocast="float32")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex number of that modulus and angle in radians."""
    for name, x in (("abs", abs), ("angle", angle)):
        if x.dtype not in (float16, float32, float64):
            raise DTypeError(
                "polar", name, was=x.dtype.name, needed="float16, float32 or float64"
            )
    if abs.dtype is not angle.dtype:
        raise DTypeError(
            "polar", "angle", was=angle.dtype.name,
            needed=f"{abs.dtype.name} as in abs",
        )  # fmt: skip
    return z.complex(abs * cos(angle), abs * sin(angle))


@public("torch.view_as_real")
def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts along a new last dim, a view of their memory."""
    return PAIRS.of(input) if input.dtype.is_complex else z.real_pairs(input)


@public("torch.view_as_complex", autocast="float32")
def view_as_complex(input: Tensor) -> Tensor:
    """Complex numbers from pairs along the last dim, a view of their memory.

    Raises: ShapeError where the numbers of a pair are no neighbours, or do not begin
        on a complex number's place.
    """
    if input.dtype is bfloat16:
        raise DTypeError(
            "view_as_complex", "input", was="bfloat16",
            needed="float16, float32 or float64",
        )  # fmt: skip
    return JOINED.of(input) if _are_pairs(input) else JOINED.copy(input)


def _are_pairs(x: Tensor) -> bool:
    """Whether the elements lie as those of complex numbers do.

    Raises:
        ShapeError: they do not, though their shape and their dtype do.
    """
    sizes = tuple(x._a.shape)
    if x.dtype not in (float32, float64) or sizes[-1:] != (2,):
        return False  # which the op words
    strides, offset = x._kind.backend.geometry(x._a, storage_of(x).root)
    if strides[-1] != 1 or offset % 2 or any(s % 2 for s in strides[:-1]):
        raise ShapeError(
            "view_as_complex", "input",
            was=f"of strides {tuple(strides)}, from element {offset} of its memory",
            needed="a last dim with stride 1, and others "
            "with even ones, from an even element", remedy="take contiguous() first",
        )  # fmt: skip
    return True


@public("nan_to_num nan_to_num_", out="same", plain=_nan_to_num)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:  # fmt: skip
    """NaN and infinities replaced: by 0 and the dtype's extremes unless given.

    Those of complex numbers are replaced in each part.
    """
    if not input.dtype.is_complex:
        return _nan_to_num(input, nan, posinf, neginf)
    pairs = _nan_to_num(z.real_pairs(input), nan, posinf, neginf)
    return z.from_pairs(pairs)
