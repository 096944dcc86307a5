"""Adamax: Adam by the largest gradient instead of the mean of squares."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor

from .constructors import constructor_of_options
from .expression import ExpressionOptimizer, Group, Kept, Numbers, State, ascent
from .functions import function_of
from .optimizer import Params


class Adamax(ExpressionOptimizer):
    """Adamax (Kingma & Ba 2014, arXiv:1412.6980, algorithm 2).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay rates of the mean of gradients and of the largest one.
        eps: added to each gradient's size.
        weight_decay: factor of the squared-norm penalty's gradient.
        foreach, capturable: torch's choice of kernels; taken, and without effect.
        maximize: whether to go up the gradient.
        differentiable: whether the step is recorded.
    """

    @constructor_of_options(not_negative=("eps", "weight_decay"))
    def __init__(
        self,
        params: Params,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        """Take the options of groups that have none of their own."""

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        return {"exp_avg": Kept(), "exp_inf": Kept()}

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        (beta1, beta2), step = options["betas"], state["step"] + 1
        return {
            "take": 1 - beta1, "keep_largest": beta2, "eps": options["eps"],
            "rate": -options["lr"] / (1 - beta1**step),
            "decay": options["weight_decay"],
        }  # fmt: skip

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        g = ascent(p, g, group, n)
        mean = ft.lerp(kept["exp_avg"], g, n["take"])
        largest = kept["exp_inf"] * n["keep_largest"]
        largest = ft.maximum(largest, ft.abs(g) + n["eps"])
        return p + mean / largest * n["rate"], {"exp_avg": mean, "exp_inf": largest}


@function_of(
    Adamax,
    kept={"exp_avgs": "exp_avg", "exp_infs": "exp_inf"},
    pairs={"betas": ("beta1", "beta2")},
)
def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
) -> None:
    """One step of `Adamax`, whose lists are written in place."""
