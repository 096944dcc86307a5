"""Results of recorded functions: their structure, with slots instead of tensors."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.graph import Slot
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.engine.tensor_type import Size, size_of

# What has no tensors in it, and is the same whenever it is the same value.
_PLAIN: Final = (
    bool, int, float, complex, str, bytes, type(None), slice, range, DType, device,
    np.generic, np.ndarray,
)  # fmt: skip


def mapped(
    value: Any, at_leaf: Callable[[Any], Any], within: tuple[Any, ...] = ()
) -> Any:
    """`value` with `at_leaf` of all that is no list, tuple, dict or dataclass.

    What contains itself is a leaf.
    """
    if type(value) is Slot or any(value is outer for outer in within):
        return at_leaf(value)

    def inner(v: Any) -> Any:
        return mapped(v, at_leaf, (*within, value))

    if isinstance(value, tuple):
        made = map(inner, value)
        if type(value) is Size:  # of whatever stands for its ints
            return size_of(made)
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, list):
        items = copy.copy(value)
        items[:] = map(inner, value)
        return items
    if isinstance(value, dict):
        entries = copy.copy(value)
        for key, v in value.items():
            entries[key] = inner(v)
        return entries
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        record = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(record, field.name, inner(getattr(value, field.name)))
        return record
    return at_leaf(value)


def with_slots(value: Any, slot: Callable[[Tensor], Slot]) -> Any:
    """A result with slots in the places of its tensors."""
    return mapped(value, lambda v: slot(v) if isinstance(v, Tensor) else v)


def replace_slots(value: Any, use: Callable[[Slot], Any]) -> Any:
    """A result with `use(slot)` in the places of its slots."""
    return mapped(value, lambda v: use(v) if type(v) is Slot else v)


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors of a result."""
    found: list[Tensor] = []
    mapped(value, lambda v: found.append(v) if isinstance(v, Tensor) else None)
    return found


def opaque_in(value: Any) -> str | None:
    """A class in a result of which a replay cannot make another, None if none is."""
    found: list[str] = []

    def note(v: Any) -> None:
        if not isinstance(v, _PLAIN) and type(v) not in (Tensor, Parameter):
            found.append(type(v).__name__)

    mapped(value, note)
    return found[0] if found else None


__all__ = ["mapped", "opaque_in", "replace_slots", "tensors_of", "with_slots"]
