"""The tensors of a batch in pinned memory, for loaders that are asked for it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from dovetail.device_api import PinnedMemory, registry
from dovetail.engine.tensor import Tensor

from .collate import _mapping_like, _sequence_like


def pinned_batches(batches: Iterator[Any], device: str) -> Iterator[Any]:
    """The same batches with their tensors in pinned memory.

    Args:
        device: the type of the one that they go to, "" for the accelerator. Where that
            knows no pinned memory, batches stay as they are, with a warning.
    """
    backend, _ = registry.resolve(device or "auto")
    if backend.capability(PinnedMemory) is None:
        warnings.warn(
            "DataLoader: pin_memory is True, but no accelerator with pinned memory is "
            "found: batches stay in pageable memory",
            stacklevel=2,
        )
        return batches
    # No generator, which an error of one batch would end.
    return map(partial(pin_memory, device=backend.type), batches)


def pin_memory(data: Any, device: str) -> Any:
    """`data` with its tensors in pinned memory, in whatever holds them.

    What has a method `pin_memory` says itself what it becomes.
    """
    if isinstance(data, Tensor):
        return data.pin_memory(device)
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return _mapping_like(data, {k: pin_memory(v, device) for k, v in data.items()})
    if isinstance(data, Sequence):
        return _sequence_like(data, [pin_memory(item, device) for item in data])
    return data
