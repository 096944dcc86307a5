"""Checks of the options that several optimizers have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.engine.modes import enable_grad
from dovetail.engine.scopes import live
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError


def check_not_negative(op: str, **options: Any) -> None:
    """Raise for an option below zero, or NaN."""
    for name, value in options.items():
        if not number(value) >= 0.0 or math.isnan(number(value)):
            raise ArgumentError(op, name, was=value, needed="0 or more")


def check_pair(op: str, name: str, option: Any) -> None:
    """Raise for what is no pair."""
    if not isinstance(option, tuple | list) or len(option) != 2:
        raise ArgumentTypeError(op, name, was=repr(option), needed="a pair")


def check_betas(op: str, betas: Any, foreach: bool | None) -> None:
    """Raise unless both decay rates are in [0, 1) and of the same kind."""
    if not isinstance(betas, tuple | list) or len(betas) != 2:
        raise ArgumentTypeError(
            op, "betas", was=repr(betas), needed="a pair of decay rates"
        )
    if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
        raise ArgumentError(
            op, "betas", was=f"{type(betas[0]).__name__} and {type(betas[1]).__name__}",
            needed="both floats or both tensors",
        )  # fmt: skip
    if foreach and isinstance(betas[0], Tensor):
        raise ArgumentError(
            op, "betas", was="tensors together with foreach=True", needed="floats"
        )
    for i, beta in enumerate(betas):
        if not 0.0 <= number(beta) < 1.0:
            raise ArgumentError(op, f"betas[{i}]", was=beta, needed="in [0, 1)")


def check_share(op: str, **options: Any) -> None:
    """Raise for an option outside 0 … 1."""
    for name, value in options.items():
        if not 0.0 <= number(value) <= 1.0:
            raise ArgumentError(op, name, was=value, needed="in [0, 1]")


def check_lr(
    op: str, lr: Any, foreach: bool | None = None, capturable: bool = False
) -> None:
    """Raise unless the learning rate is a number, or a tensor that holds one."""
    if isinstance(lr, Tensor):
        if foreach and not capturable:
            raise ArgumentError(
                op, "lr", was="a tensor together with foreach=True", needed="a float"
            )
        if lr.numel() != 1:
            raise ArgumentError(
                op, "lr", was=f"a tensor of {lr.numel()} elements", needed="one element"
            )
    check_not_negative(op, lr=lr)


def check_way(
    op: str,
    *,
    foreach: bool | None = None,
    fused: bool | None = None,
    differentiable: bool = False,
) -> None:
    """Raise for ways of computing that exclude each other.

    `foreach` and `fused` choose between kernels in torch; here one op updates each
    parameter, whatever they are. `capturable` needs nothing: every step can be.
    """
    if not isinstance(differentiable, bool):
        raise ArgumentTypeError(
            op, "differentiable", was=repr(differentiable), needed="True or False"
        )
    if foreach and fused:
        raise ArgumentError(op, "fused", was="True, and so is foreach", needed="one")
    if fused and differentiable:
        raise ArgumentError(
            op, "fused", was="True, and so is differentiable", needed="one"
        )


def number(value: Any) -> float:
    """An option that may be a tensor, as a float; waits for the device then."""
    if isinstance(value, Tensor) and not value.dtype.is_complex:
        return float(value.item())
    if not isinstance(value, int | float | np.number):
        raise ArgumentTypeError(
            "optimizer", "option", was=repr(value), needed="a real number"
        )
    return float(value)


def option(group: dict[str, Any], name: str) -> float:
    """A number of a group, which a replay of the step reads again."""
    return live(lambda: number(group[name]))


def loss_of(closure: Callable[[], Any] | None) -> Any:
    """What a step's closure returns, with gradients recorded; None without one."""
    if closure is None:
        return None
    with enable_grad():
        return closure()
