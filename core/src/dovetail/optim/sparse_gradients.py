"""Steps by sparse gradients, which change the rows that these name, alone."""

from __future__ import annotations

import math
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import NotSupported
from dovetail.sparse.tensor import SparseTensor, with_values

Options = dict[str, Any]
State = dict[str, Any]


def check_no_decay(op: str, options: Options) -> None:
    """Raise where weights are to decay, all of which would change."""
    if options["weight_decay"] != 0:
        raise NotSupported(
            op, "weight_decay", was=f"{options['weight_decay']} with sparse gradients",
            needed="0: weight_decay option is not compatible with sparse gradients",
        )  # fmt: skip


def _gradient(grad: Any, options: Options) -> Any:
    grad = grad.detach()
    return -grad if options["maximize"] else grad


def sgd_step(param: Tensor, grad: Any, state: State, options: Options) -> None:
    """A step of SGD; the buffer of momentum is sparse, too."""
    check_no_decay("SGD.step", options)
    grad, momentum = _gradient(grad, options), options["momentum"]
    if momentum:
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = grad.clone()
        else:
            buffer = buffer * momentum
            buffer = ft.add(buffer, grad, alpha=1 - options["dampening"])
        buffer = state["momentum_buffer"] = buffer.coalesce()
        if options["nesterov"]:
            grad = ft.add(grad, buffer, alpha=momentum)
        else:
            grad = buffer
    param.add_(grad, alpha=-options["lr"])


def adagrad_step(param: Tensor, grad: Any, state: State, options: Options) -> None:
    """A step of Adagrad, whose sums grow in the rows of the gradient alone."""
    check_no_decay("Adagrad.step", options)
    grad = _gradient(grad, options).coalesce()
    rate = options["lr"] / (1 + state["step"] * options["lr_decay"])
    values, total = grad._values(), state["sum"]
    total.add_(with_values(grad, values * values))
    roots = _at(total, grad).sqrt() + options["eps"]
    param.add_(with_values(grad, values / roots), alpha=-rate)
    state["step"] += 1.0


def adam_step(param: Tensor, grad: Any, state: State, options: Options) -> None:
    """A step of Adam whose means move in the rows of the gradient alone."""
    grad = _gradient(grad, options).coalesce()
    first, second = options["betas"]
    step, values = state["step"] + 1, grad._values()
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    mean_before, square_before = _at(mean, grad), _at(square, grad)
    mean_more = (values - mean_before) * (1 - first)
    square_more = (values * values - square_before) * (1 - second)
    mean.add_(with_values(grad, mean_more))
    square.add_(with_values(grad, square_more))
    roots = (square_before + square_more).sqrt() + options["eps"]
    rate = options["lr"] * math.sqrt(1 - second**step) / (1 - first**step)
    change = (mean_before + mean_more) / roots
    param.add_(with_values(grad, change), alpha=-rate)
    state["step"] = step


def _at(x: Any, grad: SparseTensor) -> Any:
    """What a dense tensor has where a gradient has elements."""
    return x.sparse_mask(grad)._values()
