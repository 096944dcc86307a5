"""Joining the samples of a batch."""

from __future__ import annotations

import copy
import re
from collections.abc import (
    Callable,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError

#: What joins samples, by their type or a tuple of types: called with the samples, and
#: with the table itself as `collate_fn_map`.
Joins = dict[type | tuple[type, ...], Callable[..., Any]]

np_str_obj_array_pattern: Final = re.compile("[SaUO]")  # of dtypes that no tensor has
default_collate_err_msg_format: Final = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or "
    "lists; found {}"
)


def default_convert(data: Any) -> Any:
    """NumPy arrays as tensors, in whatever holds them; the rest as it is."""
    if isinstance(data, np.ndarray | np.generic):
        return data if _is_text(data) else ft.as_tensor(data)
    if isinstance(data, str | bytes | Tensor):
        return data
    if isinstance(data, Mapping):
        return _mapping_like(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, Sequence):
        return _listed_like(data, [default_convert(item) for item in data])
    return data


def default_collate(batch: Any) -> Any:
    """The samples of a batch as one: tensors with one more axis in front.

    Tensors and arrays are stacked, numbers become a tensor, strings stay a list;
    mappings and sequences are joined item by item. `default_collate_fn_map` says what
    joins samples of which type, and may be changed.

    Raises:
        ArgumentError: sequences of different lengths.
        ArgumentTypeError: samples of a type that cannot be joined.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """The samples of a batch as one, by a table of what joins samples of a type.

    A sample's own type is looked for first, then those it is an instance of, in the
    table's order. Mappings and sequences that are not in it are joined item by item.

    Raises:
        ArgumentError: sequences of different lengths.
        ArgumentTypeError: samples of a type that cannot be joined.
    """
    sample = batch[0]
    joins = {} if collate_fn_map is None else collate_fn_map
    join = joins.get(type(sample)) or next(
        (joins[kind] for kind in joins if isinstance(sample, kind)), None
    )
    if join is not None:
        return join(batch, collate_fn_map=collate_fn_map)
    if isinstance(sample, Mapping):
        columns = {
            key: collate([item[key] for item in batch], collate_fn_map=collate_fn_map)
            for key in sample
        }
        return _mapping_like(sample, columns)
    if not isinstance(sample, Sequence):
        raise _refused(type(sample))
    return _listed_like(
        sample,
        [collate(column, collate_fn_map=collate_fn_map) for column in _columns(batch)],
    )


def _columns(batch: Any) -> Iterable[tuple[Any, ...]]:
    """The first items of the samples, the second ones ..."""
    lengths = {len(item) for item in batch}
    if len(lengths) > 1:
        raise ArgumentError(
            "default_collate", "batch", was=f"sequences of {sorted(lengths)} items",
            needed="one number: each element in list of batch should be of equal size",
            remedy="pad them in the dataset, or give the DataLoader a collate_fn",
        )  # fmt: skip
    return zip(*batch, strict=True)


def collate_tensor_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """Tensors, stacked."""
    return ft.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """NumPy arrays as tensors, joined."""
    if _is_text(batch[0]):
        raise _refused(batch[0].dtype)
    return collate(
        [ft.as_tensor(item) for item in batch], collate_fn_map=collate_fn_map
    )


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """NumPy's numbers, as a tensor."""
    return ft.stack([ft.as_tensor(item) for item in batch], 0)


def collate_float_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """Floats, as a tensor of float64."""
    return ft.tensor(list(batch), dtype=dtypes.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """Integers or truth values, as a tensor."""
    return ft.tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """Strings, as they are."""
    return batch


default_collate_fn_map: Final[Joins] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _is_text(data: Any) -> bool:
    return np_str_obj_array_pattern.search(data.dtype.str) is not None


def _mapping_like(data: Any, items: dict[Any, Any]) -> Any:
    """`items` in a mapping like `data`, where that can be made.

    A copy keeps what else the object has, which its class could not be told.
    """
    try:
        if not isinstance(data, MutableMapping):
            return type(data)(items)
        copied = copy.copy(data)
        copied.update(items)
        return copied
    except TypeError:
        return items


def _sequence_like(data: Any, items: list[Any]) -> Any:
    """`items` in a sequence like `data`, where that can be made."""
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*items)
    try:
        if not isinstance(data, MutableSequence):
            return type(data)(items)
        copied = copy.copy(data)
        for i, item in enumerate(items):
            copied[i] = item
        return copied
    except TypeError:
        return items


def _listed_like(data: Any, items: list[Any]) -> Any:
    """The same, but for plain tuples, which are lists afterwards, as torch has it."""
    plain = isinstance(data, tuple) and not hasattr(data, "_fields")
    return items if plain else _sequence_like(data, items)


def _refused(kind: object) -> ArgumentTypeError:
    return ArgumentTypeError(
        "default_collate", was="batch must contain tensors, numpy arrays, numbers, "
        f"dicts or lists; found {kind}", remedy="give the DataLoader a collate_fn",
    )  # fmt: skip
