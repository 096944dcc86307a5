"""Elements replaced by what functions of Python's give for them; slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    ShapeError,
)
from dovetail.frontend.create import tensor


def _host(name: str, *tensors: Tensor) -> None:
    for x in tensors:
        if x._kind.backend.type != "cpu":
            raise ArgumentTypeError(
                name, "tensor", was=f"on {x.device}", needed="a CPU tensor: "
                "a Python function sees every element",
            )  # fmt: skip
        if x.shape != tensors[0].shape:
            raise ShapeError(
                name, "tensor", was=f"of shape {tuple(x.shape)}",
                needed=f"{tuple(tensors[0].shape)}, the shape of the other",
            )  # fmt: skip


def _applied(name: str, call: Callable[..., Any], x: Tensor, *more: Tensor) -> Tensor:
    if x.requires_grad:
        raise ArgumentError(
            name, "tensor", was="one that requires grad",
            needed="a tensor outside the graph", remedy="use it under detach()",
        )  # fmt: skip
    _host(name, x, *more)
    columns = (t.detach().reshape(-1).tolist() for t in (x, *more))
    results = [call(*row) for row in zip(*columns, strict=True)]
    made = tensor(results, dtype=x.dtype).reshape(x.shape)
    return x.copy_(made)


@public("Tensor.apply_", asks=False)
def apply_(self: Tensor, callable: Callable[[Any], Any], /) -> Tensor:
    """Replace each element by what a Python function gives for it; slow."""
    return _applied("apply_", callable, self)


@public("Tensor.map_", asks=False)
def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by a Python function of it and one of another tensor."""
    return _applied("map_", callable, self, other)


@public("Tensor.map2_", asks=False)
def map2_(
    self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]
) -> Tensor:
    """Replace each element by a Python function of it and those of two others."""
    return _applied("map2_", callable, self, x, y)
