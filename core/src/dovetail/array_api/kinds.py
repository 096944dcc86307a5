"""The standard's dtypes, by kinds and names."""

from __future__ import annotations

from typing import Final

from dovetail.dtypes import (
    DType,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from dovetail.errors import ArgumentError

_SIGNED: Final = {"int8": int8, "int16": int16, "int32": int32, "int64": int64}
_UNSIGNED: Final = {
    "uint8": uint8, "uint16": uint16, "uint32": uint32, "uint64": uint64,
}  # fmt: skip
_REAL: Final = {"float32": float32, "float64": float64}
_COMPLEX: Final = {"complex64": complex64, "complex128": complex128}
# The dtypes of each kind that the standard names, by their names there.
KINDS: Final[dict[str, dict[str, DType]]] = {
    "bool": {"bool": bool_},
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED | _UNSIGNED,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED | _UNSIGNED | _REAL | _COMPLEX,
}


def of_kind(name: str) -> dict[str, DType]:
    """The dtypes of a kind, by name.

    Raises: ArgumentError for what is no kind.
    """
    if name not in KINDS:
        raise ArgumentError(
            "array_api", "kind", was=repr(name), needed=f"one of {', '.join(KINDS)}"
        )
    return KINDS[name]
