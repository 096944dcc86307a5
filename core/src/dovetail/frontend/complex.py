"""torch's names for complex numbers."""

from __future__ import annotations

from dovetail.dtypes import bfloat16, float16, float32, float64
from dovetail.engine.public import public
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, extend
from dovetail.errors import DTypeError
from dovetail.ops import complex as z
from dovetail.ops.arithmetic import cos, sin
from dovetail.ops.formats import conj as conjugate


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
    """The real part, in memory of its own; a real tensor is its own."""
    return _copied(z.real(input), "real") if input.dtype.is_complex else input


def _copied(y: Tensor, name: str) -> Tensor:
    """Mark a copy that is a view in torch: a write to it would be lost."""
    why = f"a copy made by {name}: a write would not reach its origin"
    storage_of(y).readonly = why
    return y


@public("torch.imag")
def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, in memory of its own."""
    return _copied(z.imag(input), "imag")


extend(real=property(real), imag=property(imag))


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


@public("torch.polar", out="same")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex number of that modulus and angle in radians."""
    for name, x in (("abs", abs), ("angle", angle)):
        if x.dtype not in (float16, float32, float64):
            raise DTypeError(
                "polar", name, was=x.dtype.name, needed="float16, float32 or float64"
            )
    return z.complex(abs * cos(angle), abs * sin(angle))


@public("torch.view_as_real")
def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts along a new last dim, in memory of their own."""
    return _copied(z.real_pairs(input), "view_as_real")


@public("torch.view_as_complex")
def view_as_complex(input: Tensor) -> Tensor:
    """Complex numbers from pairs along the last dim, in memory of their own."""
    if input.dtype is bfloat16:
        raise DTypeError(
            "view_as_complex", "input", was="bfloat16",
            needed="float16, float32 or float64",
        )  # fmt: skip
    return _copied(z.from_pairs(input), "view_as_complex")
