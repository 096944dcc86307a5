"""Dtypes of the array API standard: kinds, promotion, limits, casts."""

from __future__ import annotations

from typing import Any

from dovetail import limits
from dovetail.array_api.arrays import common_dtype, conforming, promote
from dovetail.array_api.kinds import of_kind
from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.errors import DTypeError


@conforming
def astype(x: Any, dtype: DType, /, *, copy: bool = True, device: Any = None) -> Any:
    """The array in another dtype, and on another device if one is named.

    Raises: DTypeError where complex numbers would lose their imaginary parts.
    """
    if x.dtype.is_complex and not dtype.is_complex:
        raise DTypeError(
            "astype", "dtype", was=f"{dtype.name}, for {x.dtype.name}",
            needed="a complex one", remedy="take real(x) first",
        )  # fmt: skip
    made = x.to(dtype) if device is None else x.to(device).to(dtype)
    return made.clone() if copy and made is x else made


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Whether promotion may take a dtype, or that of an array, to another one."""
    dtype = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return promote(dtype, to) is to
    except DTypeError:  # nothing holds both
        return False


def finfo(type: DType | Tensor, /) -> Any:
    """Limits of a floating point dtype, or of an array's."""
    return limits.finfo(type.dtype if isinstance(type, Tensor) else type)


def iinfo(type: DType | Tensor, /) -> Any:
    """Limits of an integer dtype, or of an array's."""
    return limits.iinfo(type.dtype if isinstance(type, Tensor) else type)


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Whether a dtype is one of, or of a kind of, those that are named."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(
        dtype in of_kind(k).values() if isinstance(k, str) else dtype is k
        for k in kinds
    )


def result_type(*arrays_and_dtypes: Any) -> DType:
    """What arrays, dtypes and numbers promote to."""
    return common_dtype(*arrays_and_dtypes)
