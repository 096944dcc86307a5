"""Collectives that gradients pass: torch.distributed.nn.functional, in a group of one.

They give new tensors, where those of `dovetail.distributed` write.
"""

from __future__ import annotations

from typing import Any

from dovetail.engine.tensor import Tensor

from .collectives import ReduceOp, member, one
from .groups import ProcessGroup


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None
) -> Tensor:
    """What all have, put together."""
    member("all_reduce", group)
    return tensor.clone()


def reduce(
    tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None
) -> Tensor:
    """What all have, put together."""
    member("reduce", group, dst)
    return tensor.clone()


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None) -> Tensor:
    """What one has."""
    member("broadcast", group, src)
    return tensor.clone()


def all_gather(tensor: Tensor, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """What each has."""
    member("all_gather", group)
    return (tensor.clone(),)


def gather(
    tensor: Tensor, dst: int = 0, group: ProcessGroup | None = None
) -> tuple[Tensor, ...]:
    """What each has."""
    member("gather", group, dst)
    return (tensor.clone(),)


def scatter(
    tensors: list[Tensor], src: int = 0, group: ProcessGroup | None = None
) -> Tensor:
    """An entry of one's list."""
    member("scatter", group, src)
    found: Tensor = one("scatter", "tensors", tensors)
    return found.clone()


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """An entry of each one's list."""
    member("all_to_all", group)
    return (one("all_to_all", "input_tensor_list", input_tensor_list).clone(),)
