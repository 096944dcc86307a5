"""Probabilities, and their logits: which are given, and logarithms of them."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.limits import finfo
from dovetail.ops.activation import logsigmoid


def check_one_given(op: str, probs: Any, logits: Any) -> None:
    """Raise unless either probabilities or logits are there."""
    if (probs is None) == (logits is None):
        raise ArgumentError(
            op, "probs and logits",
            was="missing" if probs is None else "both given", needed="one of them",
        )  # fmt: skip


def inside(probs: Tensor) -> Any:
    """Probabilities whose logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return ft.clamp(probs, eps, 1 - eps)


def softplus(x: Tensor) -> Any:
    """log(1 + exp(x)), whose slope is right at zero, too."""
    return -logsigmoid(-x)


def weighted(x: Any, log: Any) -> Any:
    """x * log, and 0 where x is."""
    found = x * log
    return ft.where(x == 0, ft.zeros_like(found), found)
