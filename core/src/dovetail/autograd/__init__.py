"""Gradients without `.grad`: torch.autograd's functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING as _TYPE_CHECKING

from dovetail.autograd import function as function
from dovetail.autograd import graph as graph
from dovetail.autograd.anomaly_mode import (
    detect_anomaly,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from dovetail.autograd.function import Function
from dovetail.engine import autograd
from dovetail.engine.autograd import tensors_of
from dovetail.engine.basics import basics
from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.modes import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from dovetail.engine.tensor import Tensor

Tensors = Tensor | Sequence[Tensor]


def grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: Tensors | None = None,
    retain_graph: bool | None = None, create_graph: bool = False,
    allow_unused: bool | None = None, materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """The gradients of the sum of `outputs` with respect to `inputs`.

    Args:
        grad_outputs: cotangents of the outputs, by default ones for scalars.
        retain_graph: keep what backward needs; default: as `create_graph`.
        create_graph: make the gradients differentiable.
        allow_unused: give None for an input that the outputs do not depend on.
        materialize_grads: give zeros instead of None.

    Raises:
        AutogradError: an input does not require gradients, or is unused.

    Examples:
        >>> import dovetail as torch
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> (slope,) = torch.autograd.grad(x**2, x, create_graph=True)
        >>> slope
        tensor(6., grad_fn=<MulBackward0>)
        >>> torch.autograd.grad(slope, x)
        (tensor(2.),)
    """
    roots = tensors_of("grad", "outputs", outputs)
    leaves = tensors_of("grad", "inputs", inputs)
    given = None
    if grad_outputs is not None:
        given = tensors_of("grad", "grad_outputs", grad_outputs, gaps=True)
    unused = materialize_grads if allow_unused is None else allow_unused
    found = autograd.grad(roots, leaves, given, retain_graph, create_graph, unused)
    if not materialize_grads:
        return found
    pairs = zip(found, leaves, strict=True)
    return tuple(basics.zeros_like(x) if g is None else g for g, x in pairs)


def backward(
    tensors: Tensors, grad_tensors: Tensors | None = None,
    retain_graph: bool | None = None, create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:  # fmt: skip
    """Add the gradients of `tensors` to the `.grad` of the leaves, or of `inputs`.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    roots, given, into = tensors_of("backward", "tensors", tensors), None, None
    if grad_tensors is not None:
        given = tensors_of("backward", "grad_tensors", grad_tensors, gaps=True)
    if inputs is not None:
        into = tensors_of("backward", "inputs", inputs)
    autograd.backward(roots, given, retain_graph, create_graph, into)


__all__ = [
    "Function", "backward", "detect_anomaly", "enable_grad", "grad", "inference_mode",
    "is_anomaly_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip

if not _TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
