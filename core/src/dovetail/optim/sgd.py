"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Final, cast

from dovetail import frontend as ft
from dovetail.engine.op import Formula
from dovetail.engine.scopes import begin
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.ops.optim import sgd_step_, sgd_steps_

from .constructors import constructor_of_options
from .expression import ExpressionOptimizer, Group, Kept, Numbers, State
from .functions import function_of
from .optimizer import Params
from .options import option
from .steps import Steps

FORMULA: Final = cast("Formula", sgd_step_.op.formula)


class SGD(ExpressionOptimizer):
    """Stochastic gradient descent, with momentum (Sutskever et al. 2013) if asked.

    With gradient g, momentum buffer b and parameter p each step does
    `b = momentum * b + (1 - dampening) * (g + weight_decay * p)` and `p -= lr * b`;
    the first step takes the gradient itself as b.

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        momentum: how much of the buffer stays; 0 keeps none.
        dampening: what of the gradient does not go into the buffer.
        weight_decay: factor of the squared-norm penalty's gradient.
        nesterov: whether the step looks ahead along the buffer.
        maximize: whether to go up the gradient.
        foreach, fused: torch's choice of kernels; taken, and without effect.
        differentiable: whether the step is recorded.

    Examples:
        >>> import dovetail as torch
        >>> weight = torch.tensor([3.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.SGD([weight], lr=0.1)
        >>> optimizer.zero_grad()
        >>> weight.square().sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([ 2.4000, -1.6000], requires_grad=True)
    """

    accumulates: ClassVar[Mapping[str, float]] = {}

    @constructor_of_options(
        not_negative=("momentum", "weight_decay"), lr_with_foreach=False
    )
    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError(
                "SGD", "nesterov",
                was=f"True with momentum={momentum} and dampening={dampening}",
                needed="a momentum, and a dampening of 0",
            )  # fmt: skip

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        return {"momentum_buffer": Kept(fill=None)} if group["momentum"] else {}

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        names = ("lr", "momentum", "dampening", "weight_decay")
        return FORMULA.numbers(*(options[name] for name in names))

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        buffer = kept.get("momentum_buffer")
        first = bool(group["momentum"]) and buffer is None
        p, buffer = FORMULA.values(
            p, g, g if first else buffer, **n, first=first, nesterov=group["nesterov"],
            maximize=group["maximize"],
        )  # fmt: skip
        return p, {"momentum_buffer": buffer}

    def _steps(self, group: dict[str, Any]) -> Iterator[Steps]:
        """The ops for a group: for each kind, with and without a buffer, one."""
        if self._by_expression(group):
            yield from super()._steps(group)
            return
        momentum = group["momentum"]
        options = {
            "lr": option(group, "lr"),
            "momentum": option(group, "momentum"),
            "dampening": option(group, "dampening"),
            "weight_decay": option(group, "weight_decay"),
            "nesterov": group["nesterov"],
            "maximize": group["maximize"],
        }
        together: dict[Any, list[tuple[Tensor, Tensor | None]]] = {}
        for param in group["params"]:
            if param.grad is not None:
                state = self.state.get(param, {})
                if param.grad._in_parts:
                    yield self._sparse_steps(param, param.grad, state, group)
                    continue
                buffer = state.get("momentum_buffer") if momentum else None
                first = bool(momentum) and buffer is None
                if first:
                    begin("state of an optimizer")
                    buffer = ft.empty_like(param)
                together.setdefault((param._kind, first), []).append((param, buffer))
        for (_, first), members in together.items():
            params, grads = [p for p, _ in members], [p.grad for p, _ in members]
            buffers = [b for _, b in members if b is not None]
            run = partial(self._step_together, params, grads, buffers, first, options)
            yield Steps(params, grads, [buffers], run)

    def _step_by_rows(
        self, param: Tensor, grad: Tensor, state: State, options: Group
    ) -> None:
        from .sparse_gradients import sgd_step  # few programs have them

        sgd_step(param, grad, state, options)

    def _step_together(
        self, params: list[Tensor], grads: list[Any], buffers: list[Tensor],
        first: bool, options: dict[str, Any],
    ) -> None:  # fmt: skip
        """Step parameters of one kind, or none of them."""
        sgd_steps_(params, grads, buffers, first=first, **options)
        if first:  # only now: until its first step it holds nothing
            for param, buffer in zip(params, buffers, strict=True):
                self.state[param]["momentum_buffer"] = buffer


@function_of(SGD, kept={"momentum_buffer_list": "momentum_buffer"}, counts={})
def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float | Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """One step of `SGD`; where a buffer is None, the list gets one."""
