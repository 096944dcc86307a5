"""RAdam: Adam that waits until its mean of squares can be trusted."""

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
    decay,
    decayed,
    squared,
)
from .functions import function_of
from .optimizer import Params


class RAdam(ExpressionOptimizer):
    """RAdam (Liu et al. 2019, arXiv:1908.03265, algorithm 2).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay rates of the means of gradients and of their squares.
        eps: added to the root of the second mean.
        weight_decay: factor of the squared-norm penalty's gradient.
        decoupled_weight_decay: whether decay bypasses the means, as in AdamW.
        foreach, capturable: torch's choice of kernels; taken, and without effect.
        maximize: whether to go up the gradient.
        differentiable: whether the step is recorded.
    """

    @constructor_of_options(
        not_negative=("eps", "weight_decay"),
        before={"maximize": "foreach", "decoupled_weight_decay": "differentiable"},
    )
    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        """Take the options of groups that have none of their own."""

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        return {"exp_avg": Kept(), "exp_avg_sq": Kept()}

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        (beta1, beta2), step = options["betas"], state["step"] + 1
        rectified, rate = _rectified(beta2, step), -options["lr"] / (1 - beta1**step)
        trusted = rectified > 0
        return {
            "take": 1 - beta1, "keep_sq": beta2, "take_sq": 1 - beta2,
            "plain": 0.0 if trusted else rate,
            "adapted": rate * rectified * (1 - beta2**step) ** 0.5,
            # The divisor of nothing is not to be zero.
            "eps": options["eps"] if trusted else 1.0, **decay(options),
        }  # fmt: skip

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        g, p = ascent(p, g, group, n), decayed(p, group, n)
        mean = ft.lerp(kept["exp_avg"], g, n["take"])
        squares = squared(kept["exp_avg_sq"], g, n["keep_sq"], n["take_sq"])
        rate = n["adapted"] / (ft.sqrt(squares) + n["eps"]) + n["plain"]
        return p + mean * rate, {"exp_avg": mean, "exp_avg_sq": squares}


def _rectified(beta2: float, step: float) -> float:
    """The factor by which the variance is known; 0 where it is not known yet."""
    most = 2 / (1 - beta2) - 1
    length = most - 2 * step * beta2**step / (1 - beta2**step)
    if length <= 5.0:
        return 0.0
    ratio = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
    return float(ratio**0.5)


@function_of(
    RAdam,
    kept={"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq"},
    pairs={"betas": ("beta1", "beta2")},
)
def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
) -> None:
    """One step of `RAdam`, whose lists are written in place."""
