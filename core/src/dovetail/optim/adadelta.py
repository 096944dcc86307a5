"""Adadelta: steps in proportion to the size of steps before."""

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
from .options import check_share


class Adadelta(ExpressionOptimizer):
    """Adadelta (Zeiler 2012, arXiv:1212.5701, algorithm 1).

    Args:
        params: parameters or groups of them.
        lr: what the step is multiplied with.
        rho: how much of the means of squares stays.
        eps: added to the means of squares.
        weight_decay: factor of the squared-norm penalty's gradient.
        foreach, capturable: torch's choice of kernels; taken, and without effect.
        maximize: whether to go up the gradient.
        differentiable: whether the step is recorded.
    """

    @constructor_of_options(
        not_negative=("eps", "weight_decay"),
        before={"maximize": "foreach", "capturable": "foreach"},
    )
    def __init__(
        self,
        params: Params,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_share("Adadelta", rho=rho)

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        return {"square_avg": Kept(), "acc_delta": Kept()}

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        return {
            "rate": -options["lr"], "keep": options["rho"], "take": 1 - options["rho"],
            "eps": options["eps"], "decay": options["weight_decay"],
        }  # fmt: skip

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        g = ascent(p, g, group, n)
        squares = squared(kept["square_avg"], g, n["keep"], n["take"])
        before = kept["acc_delta"]
        step = ft.sqrt(before + n["eps"]) / ft.sqrt(squares + n["eps"]) * g
        steps = squared(before, step, n["keep"], n["take"])
        return p + step * n["rate"], {"square_avg": squares, "acc_delta": steps}


@function_of(Adadelta, kept={"square_avgs": "square_avg", "acc_deltas": "acc_delta"})
def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | Tensor,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """One step of `Adadelta`, whose lists are written in place."""
