"""Adam, and AdamW with its decoupled weight decay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.scopes import begin, live, perform
from dovetail.engine.tensor import Tensor
from dovetail.ops.optim import adam_steps_

from .optimizer import Optimizer, Params
from .options import (
    check_betas,
    check_lr,
    check_not_negative,
    check_way,
    loss_of,
    number,
    option,
)
from .steps import Steps, run_all


class Adam(Optimizer):
    """Adam (Kingma & Ba 2014, arXiv:1412.6980, algorithm 1).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay rates of the means of gradients and of their squares.
        eps: added to the root of the second mean.
        weight_decay: factor of the squared-norm penalty's gradient.
        amsgrad: whether the largest second mean so far is used (arXiv:1904.09237).
        foreach, fused: torch's choice of kernels; taken, and without effect.
        maximize: whether to go up the gradient.
        capturable, differentiable: not there yet; only False.
        decoupled_weight_decay: whether decay bypasses the means, as in AdamW.

    Examples:
        >>> w = torch.ones(2, requires_grad=True)
        >>> optimizer = torch.optim.Adam([w], lr=0.1)
        >>> w.square().sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000, 0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        op = type(self).__name__
        check_lr(op, lr, foreach, capturable)
        check_not_negative(op, eps=eps, weight_decay=weight_decay)
        check_betas(op, betas, foreach)
        check_way(
            op, foreach=foreach, fused=fused, differentiable=differentiable,
            capturable=capturable,
        )  # fmt: skip
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient.

        Args:
            closure: computes the loss again and returns it.
        """
        loss = loss_of(closure)
        with no_grad():
            steps = [s for group in self.param_groups for s in self._steps(group)]
            run_all(f"{type(self).__name__}.step", steps)
        return loss

    def _steps(self, group: dict[str, Any]) -> Iterator[Steps]:
        """The ops for a group: for each kind, and number of steps made, one."""
        amsgrad = group["amsgrad"]
        options = {
            "lr": option(group, "lr"),
            "beta1": live(lambda: number(group["betas"][0])),
            "beta2": live(lambda: number(group["betas"][1])),
            "eps": option(group, "eps"),
            "weight_decay": option(group, "weight_decay"),
            "decoupled": group["decoupled_weight_decay"],
            "maximize": group["maximize"],
        }
        together: dict[Any, tuple[list[Tensor], list[Any], list[dict[str, Any]]]] = {}
        for param in group["params"]:
            grad = param.grad
            if grad is not None:
                state = self.state.get(param) or self._start(param, amsgrad)
                like = (param._kind, float(state["step"]), amsgrad)
                found = together.get(like)
                if found is None:
                    found = together[like] = ([], [], [])
                found[0].append(param)
                found[1].append(grad)
                found[2].append(state)
        for params, grads, states in together.values():
            kept = [
                [s["exp_avg"] for s in states],
                [s["exp_avg_sq"] for s in states],
                [s["max_exp_avg_sq"] for s in states] if amsgrad else [],
            ]
            run = partial(self._step_together, params, grads, states, kept, options)
            yield Steps(params, grads, kept, run)

    def _step_together(
        self, params: list[Tensor], grads: list[Any], states: list[dict[str, Any]],
        kept: list[list[Tensor]], options: dict[str, Any],
    ) -> None:  # fmt: skip
        """Step parameters of one kind that have made as many steps, or none of them."""
        step = live(partial(_next_step, states[0]))
        adam_steps_(params, grads, *kept, step=step, **options)
        perform(partial(_count_steps, states))  # only now: a failed step is none
        self.state.update(zip(params, states, strict=True))

    def _start(self, param: Tensor, amsgrad: bool) -> dict[str, Any]:
        """The state before the first step: no steps, and means of zero."""
        begin("state of an optimizer")
        state = {
            "step": 0.0,
            "exp_avg": ft.zeros_like(param),
            "exp_avg_sq": ft.zeros_like(param),
        }
        if amsgrad:
            state["max_exp_avg_sq"] = ft.zeros_like(param)
        return state


def _next_step(state: dict[str, Any]) -> float:
    return float(state["step"]) + 1.0


def _count_steps(states: list[dict[str, Any]]) -> None:
    for state in states:
        state["step"] = _next_step(state)


class AdamW(Adam):
    """Adam whose weight decay is a step of its own (Loshchilov & Hutter 2017).

    arXiv:1711.05101, algorithm 2. Each step first does `p -= lr * weight_decay * p`.

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay rates of the means of gradients and of their squares.
        eps: added to the root of the second mean.
        weight_decay: how much of the parameter goes, relative to lr.
        amsgrad: whether the largest second mean so far is used.
        maximize: whether to go up the gradient.
        foreach, fused: torch's choice of kernels; taken, and without effect.
        capturable, differentiable: not there yet; only False.

    Examples:
        >>> import dovetail as torch
        >>> weight = torch.tensor([3.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.AdamW([weight], lr=0.1)
        >>> optimizer.zero_grad()
        >>> weight.square().sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([ 2.8970, -1.8980], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad,
            foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip
