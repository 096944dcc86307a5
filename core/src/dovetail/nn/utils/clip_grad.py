"""Clipping gradients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from dovetail import frontend as ft
from dovetail.engine.autograd import tensors_of
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.ops.statistics import vector_norm

Tensors = Tensor | Iterable[Tensor]


def _gradients(op: str, parameters: Tensors) -> list[Tensor]:
    listed = tensors_of(op, "parameters", parameters)
    return [p.grad for p in listed if p.grad is not None]


def _number(op: str, name: str, value: Any) -> float:
    """A number as a float, also that of a tensor with one element."""
    found = value.item() if isinstance(value, Tensor) else value
    if not isinstance(found, int | float | np.number):
        raise ArgumentTypeError(op, name, was=repr(value), needed="a number")
    return float(found)


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of all tensors, as of one vector.

    Args:
        norm_type: the p of the norm; infinity is the largest magnitude.
        error_if_nonfinite: whether NaN or infinity raises; waits for the device.
        foreach: taken for torch's sake; changes nothing.

    Raises: ArgumentError if the norm is not finite and that was asked.
    """
    listed = tensors_of("get_total_norm", "tensors", tensors)
    if not listed:
        total: Tensor = ft.tensor(0.0)
        return total
    device = listed[0].device
    p = _number("get_total_norm", "norm_type", norm_type)
    norms = [vector_norm(t.reshape(-1), p, 0, False).to(device) for t in listed]
    total = vector_norm(ft.stack(norms), p, 0, False)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise ArgumentError(
            "clip_grad_norm_", "the gradients' norm", was=total.item(),
            needed="a finite number",
            remedy="error_if_nonfinite=False scales by it all the same",
        )  # fmt: skip
    return total


def clip_grads_with_norm_(
    parameters: Tensors,
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale gradients of norm `total_norm` down to `max_norm`; never up."""
    limit = _number("clip_grad_norm_", "max_norm", max_norm)
    factor = (limit / (total_norm + 1e-6)).clamp(max=1.0)
    for grad in _gradients("clip_grads_with_norm_", parameters):
        grad.mul_(factor.to(grad.device))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients so that their common norm is at most `max_norm`.

    Pascanu et al. 2013, arXiv:1211.5063, algorithm 1.

    Returns: the norm before.

    Examples:
        >>> w = torch.tensor([3.0, 4.0], requires_grad=True)
        >>> (w.square().sum() / 2).backward()
        >>> nn.utils.clip_grad_norm_([w], max_norm=1.0)
        tensor(5.)
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    listed = tensors_of("clip_grad_norm_", "parameters", parameters)
    with no_grad():
        gradients = _gradients("clip_grad_norm_", listed)
        total = get_total_norm(gradients, norm_type, error_if_nonfinite)
        clip_grads_with_norm_(listed, max_norm, total)
    return total


def clip_grad_value_(
    parameters: Tensors, clip_value: float, foreach: bool | None = None
) -> None:
    """Clip each element of the gradients to `-clip_value` … `clip_value`."""
    limit = _number("clip_grad_value_", "clip_value", clip_value)
    with no_grad():
        for grad in _gradients("clip_grad_value_", parameters):
            grad.clamp_(-limit, limit)


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`clip_grad_norm_` by its old name; warns."""
    warnings.warn(
        "nn.utils.clip_grad_norm is deprecated in favor of nn.utils.clip_grad_norm_",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
