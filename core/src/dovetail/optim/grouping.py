"""Lists of tensors, taken apart by where and what they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.tensor import Tensor

Lists = list[list[Tensor | None]]


def by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[Lists, list[int]]]:
    """Lists of tensors, taken apart by what the first list's are.

    Returns: by device and dtype, the lists, and if asked for the places.
    """
    found: dict[tuple[Any, Any], tuple[Lists, list[int]]] = {}
    for place, first in enumerate(tensorlistlist[0]):
        if first is None:
            continue
        fresh: tuple[Lists, list[int]] = ([[] for _ in tensorlistlist], [])
        lists, places = found.setdefault((first.device, first.dtype), fresh)
        for kept, given in zip(lists, tensorlistlist, strict=True):
            if given:
                kept.append(given[place])
        if with_indices:
            places.append(place)
    return found
