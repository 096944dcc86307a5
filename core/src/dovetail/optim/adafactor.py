"""Adafactor: the mean of squares of a matrix as a product of two vectors."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError
from dovetail.limits import finfo

from .constructors import constructor_of_options
from .expression import ExpressionOptimizer, Group, Kept, Numbers, State
from .optimizer import Params
from .options import check_not_negative, check_pair


class Adafactor(ExpressionOptimizer):
    """Adafactor (Shazeer & Stern 2018, arXiv:1804.04235, algorithms 4 and 5).

    Args:
        params: parameters or groups of them.
        lr: what the relative step size is at most.
        beta2_decay: the power of the step count by which means are renewed.
        eps: the least root of a mean of squares, None for the dtype's precision; and
            the least root mean square of a parameter.
        d: the root mean square above which a step is clipped.
        weight_decay: how much of the parameter goes, relative to lr.
        foreach: torch's choice of kernels; taken, and without effect.
        maximize: whether to go up the gradient.
    """

    @constructor_of_options()
    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if not beta2_decay <= 0.0:
            raise ArgumentError(
                "Adafactor", "beta2_decay", was=beta2_decay, needed="0 or less"
            )
        check_pair("Adafactor", "eps", eps)
        least = {} if eps[0] is None else {"eps[0]": eps[0]}
        check_not_negative(
            "Adafactor", weight_decay=weight_decay, **least, **{"eps[1]": eps[1]}
        )
        if not d >= 1.0:
            raise ArgumentError("Adafactor", "d", was=d, needed="1 or more")

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        if param.is_complex():
            raise DTypeError(
                "Adafactor", "one of params", was=param.dtype, needed="a real dtype"
            )
        shape = tuple(param.shape)
        if len(shape) < 2:
            return {"variance": Kept()}
        *outer, rows, columns = shape
        return {
            "row_var": Kept((*outer, rows, 1)),
            "col_var": Kept((*outer, 1, columns)),
        }

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        step = state["step"] + 1
        return {
            "take": step ** options["beta2_decay"],
            "rate": -min(options["lr"], 1 / step**0.5), "least": options["eps"][1],
            "stay": 1 - options["lr"] * options["weight_decay"], "d": options["d"],
        }  # fmt: skip

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        g = -g if group["maximize"] else g
        eps = group["eps"][0]
        eps = finfo(group["params"][0].dtype).eps if eps is None else eps
        size = ft.clamp(_root_mean_square(p), min=n["least"])
        if "variance" in kept:
            new = {"variance": ft.lerp(kept["variance"], g * g, n["take"])}
            squares = new["variance"]
        else:
            new, squares = _by_rows_and_columns(kept, g, n["take"], eps)
        step = g * ft.rsqrt(ft.clamp(squares, min=eps * eps))
        clipped = ft.clamp(_root_mean_square(step) / n["d"], min=1.0)
        if group["weight_decay"] != 0:
            p = p * n["stay"]
        return p + step * (size * n["rate"] / clipped), new


def _root_mean_square(x: Tensor) -> Any:
    return ft.sqrt(ft.mean(x * x))


def _by_rows_and_columns(
    kept: dict[str, Tensor], g: Tensor, take: float, eps: float
) -> tuple[dict[str, Tensor], Tensor]:
    """Means over columns and over rows, and the mean of squares of which they tell."""
    squares = g * g
    rows = ft.lerp(kept["row_var"], squares.mean(-1, keepdim=True), take)
    columns = ft.lerp(kept["col_var"], squares.mean(-2, keepdim=True), take)
    scale = ft.clamp(rows.mean(-2, keepdim=True), min=eps)
    return {"row_var": rows, "col_var": columns}, rows @ columns / scale
