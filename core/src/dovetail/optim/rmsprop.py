"""RMSprop: steps by the root of a running mean of squares."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor

from .constructors import constructor_of_options
from .expression import (
    ExpressionOptimizer,
    Group,
    Kept,
    Numbers,
    State,
    ascent,
    squared,
)
from .functions import function_of
from .optimizer import Params


class RMSprop(ExpressionOptimizer):
    """RMSprop (Hinton 2012, lecture 6e of Neural Networks for Machine Learning).

    With gradient g and mean of squares v each step does
    `v = alpha * v + (1 - alpha) * g * g` and `p -= lr * g / (sqrt(v) + eps)`.

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        alpha: how much of the mean of squares stays.
        eps: added to the root.
        weight_decay: factor of the squared-norm penalty's gradient.
        momentum: how much of the buffer of steps stays; 0 keeps none.
        centered: whether the mean's square is taken from the mean of squares, which
            gives the variance (Graves 2013, arXiv:1308.0850).
        capturable, foreach: torch's choice of kernels; taken, and without effect.
        maximize: whether to go up the gradient.
        differentiable: whether the step is recorded.

    Examples:
        >>> w = torch.ones(2, requires_grad=True)
        >>> optimizer = torch.optim.RMSprop([w], lr=0.01)
        >>> w.square().sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000, 0.9000], requires_grad=True)
    """

    @constructor_of_options(
        not_negative=("eps", "momentum", "weight_decay", "alpha"),
        before={"momentum": "alpha", "centered": "weight_decay"},
    )
    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        """Take the options of groups that have none of their own."""

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        kept = {"square_avg": Kept()}
        if group["momentum"] > 0:
            kept["momentum_buffer"] = Kept()
        if group["centered"]:
            kept["grad_avg"] = Kept()
        return kept

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        return {
            "rate": -options["lr"], "keep": options["alpha"],
            "take": 1 - options["alpha"], "eps": options["eps"],
            "momentum": options["momentum"], "decay": options["weight_decay"],
        }  # fmt: skip

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        g = ascent(p, g, group, n)
        squares = squared(kept["square_avg"], g, n["keep"], n["take"])
        new = {"square_avg": squares}
        spread = squares
        if group["centered"]:
            mean = new["grad_avg"] = ft.lerp(kept["grad_avg"], g, n["take"])
            spread = squares - mean * mean
        step = g / (ft.sqrt(spread) + n["eps"])
        if group["momentum"] > 0:
            step = kept["momentum_buffer"] * n["momentum"] + step
            new["momentum_buffer"] = step
        return p + step * n["rate"], new


@function_of(
    RMSprop,
    kept={
        "square_avgs": "square_avg",
        "grad_avgs": "grad_avg",
        "momentum_buffer_list": "momentum_buffer",
    },
)
def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | Tensor,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """One step of `RMSprop`, whose lists are written in place."""
