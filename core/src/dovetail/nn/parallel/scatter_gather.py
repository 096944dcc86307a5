"""Batches split over devices, and put together again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from dovetail import frontend as ft
from dovetail.device import device as Device
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

DeviceLike = Device | str | int


def scatter(inputs: Any, target_gpus: Sequence[DeviceLike], dim: int = 0) -> Any:
    """Pieces of tensors in containers, a container for each device.

    Args:
        inputs: tensors, which are split, containers of them, and what else is the same
            for all devices.
        target_gpus: devices of any type.
        dim: along which tensors are split, into pieces as `chunk` has them.

    Returns: a tuple for a tensor, a list for all else; as long as there are pieces.

    >>> from dovetail.nn.parallel import scatter
    >>> scatter([torch.arange(3), "same"], ["cpu", "cpu"])
    [[tensor([0, 1]), 'same'], [tensor([2]), 'same']]
    """
    if isinstance(inputs, Tensor):
        pieces = inputs.chunk(len(target_gpus), dim)
        places = zip(pieces, target_gpus, strict=False)
        return tuple([piece.to(place) for piece, place in places])
    if isinstance(inputs, dict) and inputs:
        split = [scatter(item, target_gpus, dim) for item in inputs.items()]
        return [type(inputs)(items) for items in zip(*split, strict=False)]
    if isinstance(inputs, list | tuple) and inputs:
        split = [scatter(item, target_gpus, dim) for item in inputs]
        return [_like(inputs, items) for items in zip(*split, strict=False)]
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: Any, kwargs: dict[str, Any] | None, target_gpus: Sequence[DeviceLike],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:  # fmt: skip
    """Arguments for each device, and arguments by name, as `scatter` splits them."""
    args = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    count = max(len(args), len(named))
    args += [()] * (count - len(args))
    named += [{}] * (count - len(named))
    return tuple(args), tuple(named)


def gather(outputs: Any, target_device: DeviceLike, dim: int = 0) -> Any:
    """What several devices gave, put together on one.

    Args:
        outputs: tensors, or containers of one form that hold them; one a device.
        dim: along which tensors are put together; numbers become a vector.

    Raises: ArgumentError for dicts of different sizes.
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        return _together(outputs, target_device, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(out) != len(first) for out in outputs):
            raise ArgumentError(
                "gather", "outputs", was="dicts of different sizes",
                needed="dicts that have the same keys",
            )  # fmt: skip
        return type(first)(
            (k, gather([out[k] for out in outputs], target_device, dim)) for k in first
        )
    items = zip(*outputs, strict=True)
    return _like(first, [gather(item, target_device, dim) for item in items])


def _together(outputs: Sequence[Tensor], place: DeviceLike, dim: int) -> Tensor:
    if dim == 0 and all(out.dim() == 0 for out in outputs):
        warnings.warn(
            "Was asked to gather along dimension 0, but all input tensors were "
            "scalars; will instead unsqueeze and return a vector.",
            UserWarning, stacklevel=4,
        )  # fmt: skip
        outputs = [out.unsqueeze(0) for out in outputs]
    joined: Tensor = ft.cat([out.to(place) for out in outputs], dim)
    return joined


def _like(container: Any, items: Sequence[Any]) -> Any:
    """Items in a container of the class of another."""
    fields = isinstance(container, tuple) and hasattr(container, "_fields")
    return type(container)(*items) if fields else type(container)(items)
