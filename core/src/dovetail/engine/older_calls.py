"""Calls whose numbers come first, as torch had them before they had names.

`x.add_(2, y)` is `x.add_(y, alpha=2)`, and `x.addcmul_(0.1, y, z)` is
`x.addcmul_(y, z, value=0.1)`. Optimizers of other people have many of them.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

from dovetail.engine.tensor import Tensor

# What the number is called.
SCALED: Final = {"add": "alpha", "sub": "alpha", "addcmul": "value", "addcdiv": "value"}
_TENSORS: Final = {"add": 2, "sub": 2, "addcmul": 3, "addcdiv": 3}
_PRODUCTS: Final = frozenset({"addmm", "addmv", "addr", "addbmm", "baddbmm"})
_told: Final[set[str]] = set()

Given = tuple[tuple[Any, ...], dict[str, Any], bool]


def in_order(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    """Arguments in today's order, and whether they came in another.

    Args:
        name: of the function.
    """
    if len(args) < 3 or (name not in SCALED and name not in _PRODUCTS):
        return args, kwargs, False
    given = args
    if len(args) - 1 == _TENSORS.get(name):
        first, number, *rest = args
        args, named = (first, *rest), {SCALED[name]: number}
    elif name in _PRODUCTS and len(args) in (4, 5):
        args, named = _product(args)
    else:
        return args, kwargs, False
    if not named.keys().isdisjoint(kwargs):  # said twice, which is refused
        return given, kwargs, False
    if name not in _told:
        _told.add(name)
        message = f"numbers before the tensors of {name} are deprecated: name them"
        warnings.warn(message, UserWarning, stacklevel=5)
    return args, {**named, **kwargs}, True


def _product(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What is added to a product: `beta` stands before it, or after it in methods."""
    *lead, left, right = args
    at = 0 if isinstance(lead[0], Tensor) else 1
    numbers = [*lead[:at], *lead[at + 1 :]]
    names = ("beta", "alpha")[: len(numbers)]
    return (lead[at], left, right), dict(zip(names, numbers, strict=True))


__all__ = ["SCALED", "in_order"]
