"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor

from .constructors import constructor_of_options
from .expression import ExpressionOptimizer, Group, Kept, Numbers, State, ascent
from .functions import function_of
from .optimizer import Params
from .options import number


class ASGD(ExpressionOptimizer):
    """Averaged SGD (Polyak & Juditsky 1992), with the rates of Bottou's sgd (2007).

    The average of the parameters is kept as "ax".

    Args:
        params: parameters or groups of them.
        lr: learning rate of the first step.
        lambd: how fast the rate falls, and the parameters decay.
        alpha: the power by which the rate falls.
        t0: the step from which parameters are averaged.
        weight_decay: factor of the squared-norm penalty's gradient.
        foreach, capturable: torch's choice of kernels; taken, and without effect.
        maximize: whether to go up the gradient.
        differentiable: whether the step is recorded.
    """

    accumulates: ClassVar[Mapping[str, float]] = {"step": 0.0, "eta": 0.0, "mu": 1.0}

    @constructor_of_options(not_negative=("weight_decay",))
    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        """Take the options of groups that have none of their own."""

    def _first_counts(self, group: Group) -> Mapping[str, float]:
        return {**self.accumulates, "eta": number(group["lr"])}

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        return {"ax": Kept()}

    def _counts(self, options: Numbers, state: State) -> dict[str, Any]:
        step, lr = state["step"] + 1.0, options["lr"]
        slower = (1 + options["lambd"] * lr * step) ** options["alpha"]
        return {
            "step": step,
            "eta": lr / slower,
            "mu": 1 / max(1.0, step - options["t0"]),
        }

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        return {
            "rate": -state["eta"], "stay": 1 - options["lambd"] * state["eta"],
            "share": state["mu"], "decay": options["weight_decay"],
        }  # fmt: skip

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        g = ascent(p, g, group, n)
        p = p * n["stay"] + g * n["rate"]
        return p, {"ax": ft.lerp(kept["ax"], p, n["share"])}


@function_of(
    ASGD, kept={"axs": "ax"}, counts={"mus": "mu", "etas": "eta", "state_steps": "step"}
)
def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float | Tensor,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """One step of `ASGD`, whose lists are written in place."""
