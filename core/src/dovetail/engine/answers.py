"""Operands that are no tensors, and have an operator of their own.

Python asks `x + other` of the tensor first. Where it cannot, the other operand's
`__radd__` can: NumPy's arrays, which compute with the tensor's values, or a class of
somebody's. What has none, or declines, is refused in our words.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dovetail.engine.tensor import Tensor

# The method that other operands have for an op's operator, by the name of the op.
reflections: Final[dict[str, str]] = {}
_KNOWN: Final = (Tensor, bool, int, float, complex, np.generic)


def reflected_method(name: str | None, other: Any) -> Any:
    """The method `name` of an operand that is no tensor and no number, or None."""
    if name is None or isinstance(other, _KNOWN):
        return None
    for cls in type(other).__mro__:  # and not the class's own class, as getattr does
        if name in cls.__dict__:
            return None if cls is object else cls.__dict__[name]
    return None


def answer(op: str, first: Any, other: Any) -> Any:
    """What `other` makes of the operator; NotImplemented where it does not know it."""
    if not isinstance(first, Tensor):
        return NotImplemented
    method = reflected_method(reflections.get(op), other)
    if method is None:
        return NotImplemented
    try:
        return method(other, first)
    except (TypeError, ValueError):
        if isinstance(other, np.ndarray):  # whose shape or dtype does not fit
            return NotImplemented
        raise
