"""The learned scale and shift of the normalisations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Parameter

from . import init
from .module import Module


def add_affine(
    module: Module, shape: Any, weight: bool, bias: bool, device: Any, dtype: Any
) -> None:
    """Give a module a weight of ones and a bias of zeros, or register neither."""
    add_weight(module, shape, weight, device, dtype)
    zeros = ft.zeros(shape, device=device, dtype=dtype) if bias else None
    module.register_parameter("bias", None if zeros is None else Parameter(zeros))


def add_weight(
    module: Module, shape: Any, weight: bool, device: Any, dtype: Any
) -> None:
    """Give a module a weight of ones, or register that it has none."""
    ones = ft.ones(shape, device=device, dtype=dtype) if weight else None
    module.register_parameter("weight", None if ones is None else Parameter(ones))


def reset_affine(module: Module) -> None:
    """Set the weight to one and the bias to zero, where they are."""
    if module._parameters.get("weight") is not None:
        init.ones_(module.weight)
    if module._parameters.get("bias") is not None:
        init.zeros_(module.bias)


def as_shape(value: int | Iterable[int]) -> tuple[int, ...]:
    """Axes' lengths as a tuple; an int is one axis."""
    return tuple(value) if isinstance(value, Iterable) else (value,)
