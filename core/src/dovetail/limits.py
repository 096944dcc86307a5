"""Limits of dtypes: `finfo`, `iinfo`, and where a maximum or a minimum starts."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

from dovetail.dtypes import INT_CATEGORY, DType, as_dtype, get_default_dtype
from dovetail.errors import DTypeError


class _Limits:
    """Constants of a dtype, set once; equal where they are of one dtype."""

    __slots__: tuple[str, ...] = ()
    shown: ClassVar[tuple[str, ...]] = ("min", "max")
    form: ClassVar[str] = ""
    dtype: DType

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} of {type(self).__name__} cannot be set")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dtype is self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        shown = [f"{name}={getattr(self, name):{self.form}}" for name in self.shown]
        return f"{type(self).__name__}({', '.join(shown)}, dtype={self.dtype.name})"


class finfo(_Limits):
    """Numeric limits of a floating point dtype (of its real part for complex)."""

    __slots__ = (
        "bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny",
    )  # fmt: skip
    shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
    form = "g"
    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    resolution: float

    def __init__(self, dtype: DType | None = None) -> None:
        real = (get_default_dtype() if dtype is None else as_dtype(dtype, "finfo")).real
        if not real.is_floating_point:
            raise DTypeError("finfo", "dtype", was=dtype, needed="a float dtype")
        if real.name in _FLOAT8_FORMATS:
            eps, tiny, largest = _FLOAT8_FORMATS[real.name]
            resolution = 1.0
        else:
            digits, top = _FLOAT_FORMATS[real.name]
            eps = 2.0 ** (1 - digits)
            tiny = 2.0 ** (2 - top)
            largest = math.ldexp(2.0 - eps, top - 1)
            resolution = 10.0 ** -math.floor((digits - 1) * math.log10(2))
        least = -largest if real.is_signed else tiny
        super().__init__(
            dtype=real, bits=real.itemsize * 8, eps=eps, max=largest, min=least,
            tiny=tiny, smallest_normal=tiny, resolution=resolution,
        )  # fmt: skip


# name: (significand bits, exponent of the first power of two that overflows)
_FLOAT_FORMATS: Final = {
    "float16": (11, 16), "bfloat16": (8, 128),
    "float32": (24, 128), "float64": (53, 1024),
}  # fmt: skip
# name: (eps, least normal number, greatest), as torch has them: the step after 1 in
# float8_e5m2fnuz is 0.25, though.
_FLOAT8_FORMATS: Final = {
    "float8_e4m3fn": (2.0**-3, 2.0**-6, 448.0),
    "float8_e5m2": (2.0**-2, 2.0**-14, 57344.0),
    "float8_e4m3fnuz": (2.0**-3, 2.0**-7, 240.0),
    "float8_e5m2fnuz": (2.0**-3, 2.0**-15, 57344.0),
    "float8_e8m0fnu": (1.0, 2.0**-127, 2.0**127),
}


class iinfo(_Limits):
    """Numeric limits of an integer dtype."""

    __slots__ = ("bits", "dtype", "max", "min")
    bits: int
    max: int
    min: int

    def __init__(self, dtype: DType) -> None:
        dtype = as_dtype(dtype, "iinfo")
        if dtype.category != INT_CATEGORY:
            raise DTypeError("iinfo", "dtype", was=dtype, needed="an integer dtype")
        bits = dtype.itemsize * 8
        low = -(1 << (bits - 1)) if dtype.is_signed else 0
        high = (1 << (bits - dtype.is_signed)) - 1
        super().__init__(dtype=dtype, bits=bits, max=high, min=low)


def least(dtype: DType) -> int | float:
    """The real number that no element is less than: what a maximum starts from."""
    return -math.inf if dtype.is_inexact else iinfo(dtype).min


def greatest(dtype: DType) -> int | float:
    """The real number that no element is greater than: what a minimum starts from."""
    return math.inf if dtype.is_inexact else iinfo(dtype).max
