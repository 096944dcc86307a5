"""Joining the samples of a batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError

# By type, or by a tuple of types, what joins samples of it.
Functions = dict[Any, Callable[..., Any]]


def default_convert(data: Any) -> Any:
    """NumPy arrays as tensors, in whatever holds them; the rest as it is."""
    if isinstance(data, np.ndarray | np.generic):
        return data if _is_text(data) else ft.as_tensor(data)
    if isinstance(data, str | bytes | Tensor):
        return data
    if isinstance(data, Mapping):
        return _mapping_like(data, {k: default_convert(v) for k, v in data.items()})
    if _is_namedtuple(data):
        return type(data)(*map(default_convert, data))
    if isinstance(data, Sequence):
        return _sequence_like(data, [default_convert(item) for item in data])
    return data


def default_collate(batch: Any) -> Any:
    """The samples of a batch as one: tensors with one more axis in front.

    Tensors and arrays are stacked, numbers become a tensor, strings stay a list;
    mappings and sequences are joined item by item. `default_collate_fn_map` says which
    function joins samples of a type.

    Raises:
        ArgumentError: sequences of different lengths.
        ArgumentTypeError: samples of a type that cannot be joined.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: Functions | None = None) -> Any:
    """The samples of a batch as one, by functions for types.

    Args:
        batch: samples of one type; mappings and sequences are joined item by item.
        collate_fn_map: by type, or by a tuple of types, what joins samples of it. It
            gets the batch, and this map as `collate_fn_map`.

    Raises: as `default_collate`.
    """
    sample = batch[0]
    known = collate_fn_map or {}
    join = known.get(type(sample)) or next(
        (known[kind] for kind in known if isinstance(sample, kind)), None
    )
    if join is not None:
        return join(batch, collate_fn_map=collate_fn_map)
    if isinstance(sample, Mapping):
        joined = {
            key: collate([item[key] for item in batch], collate_fn_map=collate_fn_map)
            for key in sample
        }
        return _mapping_like(sample, joined)
    if not isinstance(sample, Sequence):
        raise _refused(sample)
    lengths = {len(item) for item in batch}
    if len(lengths) > 1:
        raise ArgumentError(
            "default_collate", "batch", was=f"sequences of {sorted(lengths)} items",
            needed="the same number in every sample",
            remedy="pad them in the dataset, or give the DataLoader a collate_fn",
        )  # fmt: skip
    columns = [
        collate(column, collate_fn_map=collate_fn_map)
        for column in zip(*batch, strict=True)
    ]
    if _is_namedtuple(sample):
        return type(sample)(*columns)
    return columns if isinstance(sample, tuple) else _sequence_like(sample, columns)


def collate_tensor_fn(batch: Any, *, collate_fn_map: Functions | None = None) -> Any:
    """Tensors, stacked."""
    return ft.stack(list(batch), 0)


def collate_numpy_array_fn(
    batch: Any, *, collate_fn_map: Functions | None = None
) -> Any:
    """Arrays of numbers, as tensors."""
    if _is_text(batch[0]):
        raise _refused(batch[0])
    tensors = [ft.as_tensor(item) for item in batch]
    return collate(tensors, collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(
    batch: Any, *, collate_fn_map: Functions | None = None
) -> Any:
    """NumPy's numbers, as a tensor."""
    if _is_text(batch[0]):
        raise _refused(batch[0])
    return ft.as_tensor(np.asarray(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Functions | None = None) -> Any:
    """Numbers, as a tensor of float64."""
    return ft.tensor(list(batch), dtype=dtypes.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Functions | None = None) -> Any:
    """Whole numbers, as a tensor."""
    return ft.tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: Functions | None = None) -> Any:
    """Texts, as they are."""
    return batch


default_collate_fn_map: Final[Functions] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    np.generic: collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
np_str_obj_array_pattern: Final = re.compile("[SaUO]")
default_collate_err_msg_format: Final = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or "
    "lists; found {}"
)


def _is_text(data: Any) -> bool:
    return data.dtype.kind in "SUO"


def _is_namedtuple(data: Any) -> bool:
    return isinstance(data, tuple) and hasattr(data, "_fields")


def _mapping_like(data: Any, items: dict[Any, Any]) -> Any:
    """`items` in a mapping of the type of `data`, where that can be made."""
    try:
        return type(data)(items)
    except TypeError:
        return items


def _sequence_like(data: Any, items: list[Any]) -> Any:
    """`items` in a sequence of the type of `data`, where that can be made."""
    try:
        return type(data)(items)
    except TypeError:
        return items


def _refused(sample: Any) -> ArgumentTypeError:
    return ArgumentTypeError(
        "default_collate", "a sample", was=f"of type {type(sample).__name__}",
        needed="tensors, arrays, numbers, strings, mappings or sequences",
        remedy="give the DataLoader a collate_fn",
    )  # fmt: skip
