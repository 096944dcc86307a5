"""Modules as functions of their parameters, by the names that functorch gave them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.errors import ArgumentError
from dovetail.func import functional_call, stack_module_state
from dovetail.nn import Module

Tensors = tuple[Any, ...]


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], Tensors]:
    """A function `f(params, *args)` that does what a module does, and its parameters.

    Args:
        disable_autograd_tracking: whether the parameters need no gradients.

    Raises: ArgumentError for a module with buffers.
    """
    function, params, buffers = make_functional_with_buffers(
        model, disable_autograd_tracking
    )
    if buffers:
        raise ArgumentError(
            "make_functional", "model", was="with buffers", needed="one without",
            remedy="use make_functional_with_buffers",
        )  # fmt: skip
    return (lambda params, *args, **named: function(params, (), *args, **named)), params


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], Tensors, Tensors]:
    """A function `f(params, buffers, *args)`, with the parameters and the buffers."""
    stateless = copy.deepcopy(model).to("meta")
    names = [name for name, _ in model.named_parameters()]
    kept = [name for name, _ in model.named_buffers()]

    def function(
        params: Sequence[Any], buffers: Sequence[Any], *args: Any, **named: Any
    ) -> Any:
        state = dict(zip([*names, *kept], [*params, *buffers], strict=True))
        return functional_call(stateless, state, args, named)

    params = tuple(
        p.detach().clone().requires_grad_(p.requires_grad)
        if not disable_autograd_tracking else p.detach().clone()
        for p in model.parameters()
    )  # fmt: skip
    return function, params, tuple(b.clone() for b in model.buffers())


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[Callable[..., Any], Tensors, Tensors]:
    """One function for modules of one kind, with their states stacked."""
    function, _, _ = make_functional_with_buffers(models[0])
    params, buffers = stack_module_state(list(models))
    return function, tuple(params.values()), tuple(buffers.values())
