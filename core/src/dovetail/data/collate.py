"""Joining the samples of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError


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
    mappings and sequences are joined item by item.

    Raises:
        ArgumentError: sequences of different lengths.
        ArgumentTypeError: samples of a type that cannot be joined.
    """
    sample = batch[0]
    if isinstance(sample, Tensor):
        return ft.stack(list(batch), 0)
    if isinstance(sample, np.ndarray | np.generic):
        if _is_text(sample):
            raise _refused(sample)
        return ft.stack([ft.as_tensor(item) for item in batch], 0)
    if isinstance(sample, float):
        return ft.tensor(list(batch), dtype=dtypes.float64)
    if isinstance(sample, int):
        return ft.tensor(list(batch))
    if isinstance(sample, str | bytes):
        return batch
    return _collate_container(batch, sample)


def _collate_container(batch: Any, sample: Any) -> Any:
    if isinstance(sample, Mapping):
        joined = {key: default_collate([item[key] for item in batch]) for key in sample}
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
    columns = [default_collate(column) for column in zip(*batch, strict=True)]
    if _is_namedtuple(sample):
        return type(sample)(*columns)
    return columns if isinstance(sample, tuple) else _sequence_like(sample, columns)


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
