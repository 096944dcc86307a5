"""Gradients without `.grad`: torch.autograd's functions."""

from __future__ import annotations

import typing as _typing
import warnings as _warnings
from collections.abc import Sequence
from importlib import import_module as _import_module

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
from dovetail.engine.gradient_edges import by_edges, has_edges
from dovetail.engine.inference import inference_mode
from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.modes import enable_grad, no_grad, set_grad_enabled
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

Tensors = Tensor | Sequence[Tensor]


def grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: Tensors | None = None,
    retain_graph: bool | None = None, create_graph: bool = False,
    only_inputs: bool = True, allow_unused: bool | None = None,
    is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """The gradients of the sum of `outputs` with respect to `inputs`.

    Args:
        grad_outputs: cotangents of the outputs, by default ones for scalars.
        retain_graph: keep what backward needs; default: as `create_graph`.
        create_graph: make the gradients differentiable.
        only_inputs: changes nothing, of which a FutureWarning tells where it is False.
        allow_unused: give None for an input that the outputs do not depend on.
        is_grads_batched: the first dim of `grad_outputs` counts cotangents, and that of
            the gradients, too.
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
    if not only_inputs:
        _warnings.warn("only_inputs has no effect", FutureWarning, stacklevel=2)
    if materialize_grads and has_edges(inputs):
        raise ArgumentError(
            "grad", "materialize_grads", was="True, where an input is a GradientEdge",
            needed="False", remedy="pass allow_unused=True",
        )  # fmt: skip
    if materialize_grads and allow_unused is False:
        raise ArgumentError(
            "grad", "allow_unused", was="False, beside materialize_grads=True",
            needed="True, or not passed",
        )  # fmt: skip
    if is_grads_batched and grad_outputs is None:
        raise ArgumentError(
            "grad", "grad_outputs", was="missing, beside is_grads_batched=True",
            needed="cotangents with a first dim that counts them",
        )  # fmt: skip
    outputs, inputs = by_edges("grad", outputs, grad_outputs), by_edges("grad", inputs)
    roots = tensors_of("grad", "outputs", outputs)
    leaves = tensors_of("grad", "inputs", inputs)
    if any(x._in_parts for x in leaves):
        parts = [x._on_tape if x._in_parts else x for x in leaves]
        found = grad(
            outputs, parts, grad_outputs, retain_graph, create_graph, True,
            allow_unused, is_grads_batched, materialize_grads,
        )  # fmt: skip
        return tuple(
            x._with_gradient(g) if x._in_parts else g
            for x, g in zip(leaves, found, strict=True)
        )
    given = None
    if grad_outputs is not None:
        given = tensors_of("grad", "grad_outputs", grad_outputs, gaps=True)
    unused = materialize_grads if allow_unused is None else allow_unused
    options = retain_graph, create_graph, unused
    found = (
        _of_rows(roots, leaves, given, *options)
        if given is not None and is_grads_batched
        else autograd.grad(roots, leaves, given, *options)
    )
    if not materialize_grads:
        return found
    pairs = zip(found, leaves, strict=True)
    return tuple([_zeros(x, create_graph) if g is None else g for g, x in pairs])


def _zeros(x: Tensor, create_graph: bool) -> Tensor:
    """The gradient of what the outputs do not depend on."""
    made: Tensor = basics.zeros_like(x).detach()
    return made.requires_grad_(create_graph)


def _of_rows(
    roots: Sequence[Tensor], leaves: Sequence[Tensor], rows: Sequence[Tensor | None],
    *options: _typing.Any,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """Gradients for each row of cotangents, by one pass for all."""
    from dovetail.func.mapping import vmap  # few programs differentiate in batches

    given = [ct for ct in rows if ct is not None]
    reached: list[int] = []

    def pull(*cts: Tensor) -> list[Tensor]:
        rest = iter(cts)
        own = [None if ct is None else next(rest) for ct in rows]
        found = autograd.grad(roots, leaves, own, *options)
        reached[:] = [i for i, g in enumerate(found) if g is not None]
        return [g for g in found if g is not None]

    found = vmap(pull)(*given)
    gradients = dict(zip(reached, found, strict=True))
    return tuple([gradients.get(i) for i in range(len(leaves))])


def backward(
    tensors: Tensors, grad_tensors: Tensors | None = None,
    retain_graph: bool | None = None, create_graph: bool = False,
    grad_variables: Tensors | None = None, inputs: Tensors | None = None,
) -> None:  # fmt: skip
    """Add the gradients of `tensors` to the `.grad` of the leaves, or of `inputs`.

    Args:
        grad_tensors: cotangents of the tensors, by default ones for scalars.
        retain_graph: keep what backward needs; default: as `create_graph`.
        create_graph: make the gradients differentiable.
        grad_variables: an older name of `grad_tensors`, of which a FutureWarning tells.
        inputs: the leaves whose gradients are wanted; all, unless given.

    Raises:
        ArgumentError: both names of the cotangents are used.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        _warnings.warn("say grad_tensors=", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise ArgumentError(
                "backward", "grad_variables", was="given beside grad_tensors",
                needed="one of them",
            )  # fmt: skip
        grad_tensors = grad_variables
    tensors = by_edges("backward", tensors, grad_tensors)
    roots, given, into = tensors_of("backward", "tensors", tensors), None, None
    if grad_tensors is not None:
        given = tensors_of("backward", "grad_tensors", grad_tensors, gaps=True)
    if inputs is not None:
        into = tensors_of("backward", "inputs", by_edges("backward", inputs))
    autograd.backward(roots, given, retain_graph, create_graph, into)


class set_multithreading_enabled:
    """For torch's sake: a backward pass runs in the thread that asks for it."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


# Rooms, and names, that load when they are first asked for.
_LATER = {
    "forward_ad": "forward_ad", "functional": "functional", "grad_mode": "grad_mode",
    "profiler": "profiler", "variable": "variable", "Variable": "variable",
    "gradcheck": "gradient_checks", "gradgradcheck": "gradient_checks",
}  # fmt: skip

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "grad",
    "inference_mode", "is_anomaly_enabled", "no_grad", "set_detect_anomaly",
    "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip

if _typing.TYPE_CHECKING:
    from dovetail.autograd import forward_ad as forward_ad
    from dovetail.autograd import functional as functional
    from dovetail.autograd import grad_mode as grad_mode
    from dovetail.autograd import profiler as profiler
    from dovetail.autograd import variable as variable
    from dovetail.autograd.gradient_checks import gradcheck as gradcheck
    from dovetail.autograd.gradient_checks import gradgradcheck as gradgradcheck
    from dovetail.autograd.variable import Variable as Variable
else:
    _missing = _missing_name(__name__)

    def __getattr__(name: str) -> _typing.Any:
        """A room, or a name, that loads when it is first asked for."""
        if name not in _LATER:
            return _missing(name)
        module = _import_module(f"dovetail.autograd.{_LATER[name]}")
        return module if name == _LATER[name] else getattr(module, name)
