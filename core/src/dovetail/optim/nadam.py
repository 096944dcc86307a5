"""NAdam: Adam that looks ahead, as Nesterov's momentum does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

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


class NAdam(ExpressionOptimizer):
    """NAdam (Dozat 2016, Incorporating Nesterov Momentum into Adam).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay rates of the means of gradients and of their squares.
        eps: added to the root of the second mean.
        weight_decay: factor of the squared-norm penalty's gradient.
        momentum_decay: how fast the momentum approaches `betas[0]`.
        decoupled_weight_decay: whether decay bypasses the means, as in AdamW.
        foreach, capturable: torch's choice of kernels; taken, and without effect.
        maximize: whether to go up the gradient.
        differentiable: whether the step is recorded.
    """

    accumulates: ClassVar[Mapping[str, float]] = {"step": 0.0, "mu_product": 1.0}

    @constructor_of_options(
        not_negative=("eps", "weight_decay", "momentum_decay"),
        before={"maximize": "foreach"},
    )
    def __init__(
        self,
        params: Params,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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

    def _counts(self, options: Numbers, state: State) -> dict[str, Any]:
        step = state["step"] + 1.0
        product = state["mu_product"] * _momentum(options, step)
        return {"step": step, "mu_product": product}

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        counts = self._counts(options, state)
        step, product = counts["step"], counts["mu_product"]
        (beta1, beta2), lr = options["betas"], options["lr"]
        now, ahead = _momentum(options, step), _momentum(options, step + 1)
        return {
            "take": 1 - beta1, "keep_sq": beta2, "take_sq": 1 - beta2,
            "unbiased": 1 / (1 - beta2**step), "eps": options["eps"],
            "by_gradient": -lr * (1 - now) / (1 - product),
            "by_mean": -lr * ahead / (1 - product * ahead), **decay(options),
        }  # fmt: skip

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        g, p = ascent(p, g, group, n), decayed(p, group, n)
        mean = ft.lerp(kept["exp_avg"], g, n["take"])
        squares = squared(kept["exp_avg_sq"], g, n["keep_sq"], n["take_sq"])
        ahead = g * n["by_gradient"] + mean * n["by_mean"]
        p = p + ahead / (ft.sqrt(squares * n["unbiased"]) + n["eps"])
        return p, {"exp_avg": mean, "exp_avg_sq": squares}


def _momentum(options: Numbers, step: Any) -> Any:
    """The momentum of a step, which grows (Dozat 2016, section 3)."""
    return options["betas"][0] * (1 - 0.5 * 0.96 ** (step * options["momentum_decay"]))


@function_of(
    NAdam,
    kept={"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq"},
    counts={"mu_products": "mu_product", "state_steps": "step"},
    pairs={"betas": ("beta1", "beta2")},
)
def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """One step of `NAdam`, whose lists are written in place."""
