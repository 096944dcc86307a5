"""Muon: momentum whose steps are made orthogonal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.dtypes import bfloat16
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, ShapeError

from .constructors import constructor_of_options
from .expression import ExpressionOptimizer, Group, Kept, Numbers, State
from .optimizer import Params

_ADJUSTMENTS = (None, "original", "match_rms_adamw")
_MOST_ITERATIONS = 100


class Muon(ExpressionOptimizer):
    """Muon (Jordan et al. 2024), for the matrices of hidden layers.

    The momentum's direction goes through a few Newton-Schulz iterations in bfloat16,
    after which its singular values are near one. Other parameters (biases, embeddings)
    need another optimizer.

    Args:
        params: matrices or groups of them.
        lr: learning rate.
        weight_decay: how much of the parameter goes, relative to lr.
        momentum: how much of the mean of gradients stays.
        nesterov: whether the step looks ahead along the mean.
        ns_coefficients: of x, x^3 and x^5 in an iteration.
        eps: the least norm by which a gradient is divided.
        ns_steps: how many iterations.
        adjust_lr_fn: how the rate depends on the shape: "original", which None is, or
            "match_rms_adamw" (Liu et al. 2025, arXiv:2502.16982).
    """

    accumulates: ClassVar[Mapping[str, float]] = {}

    @constructor_of_options(not_negative=("momentum", "weight_decay"))
    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if adjust_lr_fn not in _ADJUSTMENTS:
            raise ArgumentError(
                "Muon", "adjust_lr_fn", was=repr(adjust_lr_fn),
                needed='None, "original" or "match_rms_adamw"',
            )  # fmt: skip
        if not 0 <= ns_steps < _MOST_ITERATIONS:
            raise ArgumentError("Muon", "ns_steps", was=ns_steps, needed="0 to 99")
        if len(ns_coefficients) != 3:
            raise ArgumentError(
                "Muon", "ns_coefficients", was=ns_coefficients, needed="three numbers"
            )

    def _check_param(self, op: str, param: Any) -> None:
        super()._check_param(op, param)
        if param.ndim != 2:
            raise ShapeError(
                op, "one of params", was=f"of shape {tuple(param.shape)}",
                needed="a matrix", remedy="give the others to another optimizer",
            )  # fmt: skip
        if param.is_complex():
            raise DTypeError(op, "one of params", was=param.dtype, needed="real")

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        return {"momentum_buffer": Kept()}

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        return {
            "take": 1 - options["momentum"], "momentum": options["momentum"],
            "rate": -options["lr"],
            "stay": 1 - options["lr"] * options["weight_decay"],
        }  # fmt: skip

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        mean = ft.lerp(kept["momentum_buffer"], g, n["take"])
        step = ft.lerp(g, mean, n["momentum"]) if group["nesterov"] else mean
        step = orthogonalized(
            step, group["ns_coefficients"], group["ns_steps"], group["eps"]
        )
        factor = _factor(group["adjust_lr_fn"], *p.shape)
        p = p * n["stay"] + step.to(p.dtype) * n["rate"] * factor
        return p, {"momentum_buffer": mean}


def orthogonalized(
    g: Tensor, coefficients: Sequence[float], iterations: int, eps: float
) -> Any:
    """A bfloat16 matrix with the singular vectors of `g` and values near one.

    An odd polynomial of the matrix is one of its singular values; repeated, this one
    takes (0, 1] near 1 (Jordan et al. 2024, Muon).
    """
    a, b, c = coefficients
    x = g.to(bfloat16)
    wide = g.shape[0] <= g.shape[1]
    x = x if wide else x.t()
    x = x / x.norm().clamp(min=eps)
    for _ in range(iterations):
        gram = x @ x.t()
        x = _rounded_once(x, _rounded_once(gram, gram, gram, b, c), x, a)
    return x if wide else x.t()


def _rounded_once(
    x: Tensor, left: Tensor, right: Tensor, b: float, c: float = 1
) -> Any:
    """b * x + c * (left @ right): sums and products are of float32 before they are cut.

    A product that is cut by itself is off by several bfloat16 steps where b * x nearly
    cancels it, and the iterations amplify that.
    """
    total = ft.addmm(x.float(), left.float(), right.float(), beta=b, alpha=c)
    return total.to(bfloat16)


def _factor(adjust: str | None, rows: int, columns: int) -> float:
    """What the rate of a matrix is multiplied with."""
    if adjust == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1.0, rows / columns))
