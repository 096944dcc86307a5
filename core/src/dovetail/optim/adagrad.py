"""Adagrad: steps by the root of the sum of all squares so far."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor

from .constructors import constructor_of_options
from .expression import ExpressionOptimizer, Group, Kept, Numbers, State, ascent
from .functions import function_of
from .optimizer import Params


class Adagrad(ExpressionOptimizer):
    """Adagrad (Duchi, Hazan & Singer 2011, JMLR 12).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        lr_decay: by how much the rate's divisor grows in each step.
        weight_decay: factor of the squared-norm penalty's gradient.
        initial_accumulator_value: what the sums of squares start from.
        eps: added to the root.
        foreach, fused: torch's choice of kernels; taken, and without effect.
        maximize: whether to go up the gradient.
        differentiable: whether the step is recorded.
    """

    @constructor_of_options(
        not_negative=("lr_decay", "weight_decay", "eps", "initial_accumulator_value"),
        before={"eps": "weight_decay"},
    )
    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        """Take the options of groups that have none of their own."""

    def _begin(self) -> None:
        for group in self.param_groups:  # the sums are there before the first step
            for param in group["params"]:
                self.state[param] = self._start(param, group)

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        return {"sum": Kept(fill=group["initial_accumulator_value"])}

    def _step_by_rows(
        self, param: Tensor, grad: Tensor, state: State, options: Group
    ) -> None:
        from .sparse_gradients import adagrad_step  # few programs have them

        adagrad_step(param, grad, state, options)

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        slower = 1 + state["step"] * options["lr_decay"]
        return {
            "rate": -options["lr"] / slower, "eps": options["eps"],
            "decay": options["weight_decay"],
        }  # fmt: skip

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        g = ascent(p, g, group, n)
        total = kept["sum"] + g * g
        return p + g / (ft.sqrt(total) + n["eps"]) * n["rate"], {"sum": total}


@function_of(Adagrad, kept={"state_sums": "sum"}, initial_accumulator_value=0.0)
def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | Tensor,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of `Adagrad`, whose lists are written in place."""
