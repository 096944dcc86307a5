"""What stands for the values of attributes in keys."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.dtypes import DType
from dovetail.engine.integers import Every
from dovetail.engine.tensor_type import Size


def frozen(value: Any) -> Any:
    """What stands for an attribute's value in a key; None for what cannot, and None.

    Equal keys mean the same: 0, 0.0, -0.0 and False are told apart, also in tuples, and
    -0.0 in complex numbers.
    """
    cls = type(value)
    if cls in _SEQUENCES:
        if _INTS.issuperset(map(type, value)):  # sizes and dims: most of them
            return (cls, int, *value)
        parts = tuple(map(frozen, value))
        absent = [v for v, part in zip(value, parts, strict=True) if part is None]
        return None if any(v is not None for v in absent) else (cls, parts)
    if cls is slice:
        ends = value.start, value.stop, value.step
        if _ENDS.issuperset(map(type, ends)):
            return (cls, *ends)
        return frozen((cls.__name__, value.start, value.stop, value.step))
    if cls is float:
        return (cls, value, math.copysign(1.0, value))
    if cls is complex:
        return (cls, frozen(value.real), frozen(value.imag))
    return (cls, value) if cls in _HASHED else None


_SEQUENCES: Final = frozenset({tuple, list, Every, Size})
_INTS: Final = frozenset({int})
_ENDS: Final = frozenset({int, type(None)})
_HASHED: Final = frozenset({int, bool, str, DType, type(Ellipsis)})
