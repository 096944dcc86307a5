"""Resilient backpropagation: steps by the signs of gradients alone."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from .constructors import constructor_of_options
from .expression import ExpressionOptimizer, Group, Kept, Numbers, State
from .functions import function_of
from .optimizer import Params
from .options import check_pair, number


class Rprop(ExpressionOptimizer):
    """Rprop (Riedmiller & Braun 1993), which forgets a gradient whose sign turned.

    Each element has a step of its own, which grows while the sign of the gradient
    stays, and shrinks when it turns.

    Args:
        params: parameters or groups of them.
        lr: the first size of all steps.
        etas: factors by which a step shrinks and grows.
        step_sizes: the smallest and the largest step.
        foreach, capturable: torch's choice of kernels; taken, and without effect.
        maximize: whether to go up the gradient.
        differentiable: whether the step is recorded.
    """

    @constructor_of_options(
        before={
            "foreach": "capturable",
            "maximize": "capturable",
            "differentiable": "capturable",
        }
    )
    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_pair("Rprop", "etas", etas)
        check_pair("Rprop", "step_sizes", step_sizes)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ArgumentError(
                "Rprop", "etas", was=etas, needed="one in (0, 1) and one above 1"
            )

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        return {"prev": Kept(), "step_size": Kept(fill=number(group["lr"]))}

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        (shrink, grow), (least, most) = options["etas"], options["step_sizes"]
        return {"shrink": shrink, "grow": grow, "least": least, "most": most}

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        g = -g if group["maximize"] else g
        agrees, size = g * kept["prev"], kept["step_size"]
        size = ft.where(agrees > 0, size * n["grow"], size)
        size = ft.where(agrees < 0, size * n["shrink"], size)
        size = ft.clamp(size, n["least"], n["most"])
        g = ft.where(agrees < 0, ft.zeros_like(g), g)
        return p - ft.sign(g) * size, {"prev": g, "step_size": size}


@function_of(
    Rprop,
    kept={"prevs": "prev", "step_sizes": "step_size"},
    pairs={
        "etas": ("etaminus", "etaplus"),
        "step_sizes": ("step_size_min", "step_size_max"),
    },
    lr=0.0,
)
def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """One step of `Rprop`, whose lists are written in place."""
