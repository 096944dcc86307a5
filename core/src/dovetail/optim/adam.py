"""Adam, and AdamW with its decoupled weight decay."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, cast

from dovetail.engine.op import Formula
from dovetail.engine.scopes import live, perform
from dovetail.engine.tensor import Tensor
from dovetail.ops.optim import adam_step_, adam_steps_

from .constructors import constructor_of_options
from .expression import ExpressionOptimizer, Group, Kept, Numbers, State
from .functions import function_of
from .optimizer import Params
from .options import number, option
from .steps import Steps

FORMULA: Final = cast("Formula", adam_step_.op.formula)
_NAMES: Final = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
_LISTS: Final = {f"{name}s": name for name in _NAMES}


class Adam(ExpressionOptimizer):
    """Adam (Kingma & Ba 2014, arXiv:1412.6980, algorithm 1).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay rates of the means of gradients and of their squares.
        eps: added to the root of the second mean.
        weight_decay: factor of the squared-norm penalty's gradient.
        amsgrad: whether the largest second mean so far is used (arXiv:1904.09237).
        foreach, fused, capturable: torch's choice of kernels; taken, without effect.
        maximize: whether to go up the gradient.
        differentiable: whether the step is recorded.
        decoupled_weight_decay: whether decay bypasses the means, as in AdamW.

    Examples:
        >>> w = torch.ones(2, requires_grad=True)
        >>> optimizer = torch.optim.Adam([w], lr=0.1)
        >>> w.square().sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000, 0.9000], requires_grad=True)
    """

    @constructor_of_options(
        not_negative=("eps", "weight_decay"),
        lr_with_foreach=False,
        before={"maximize": "foreach"},
    )
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
        """Take the options of groups that have none of their own."""

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        kept = {"exp_avg": Kept(), "exp_avg_sq": Kept()}
        if group["amsgrad"]:
            kept["max_exp_avg_sq"] = Kept()
        return kept

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        (beta1, beta2), step = options["betas"], state["step"] + 1.0
        return FORMULA.numbers(
            options["lr"], beta1, beta2, options["eps"], options["weight_decay"], step,
            options["decoupled_weight_decay"],
        )  # fmt: skip

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        all_kept = [kept.get(name) for name in _NAMES]
        p, *new = FORMULA.values(
            p, g, *all_kept, **n, maximize=group["maximize"],
            decoupled=group["decoupled_weight_decay"],
        )  # fmt: skip
        return p, dict(zip(_NAMES, new, strict=True))

    def _steps(self, group: dict[str, Any]) -> Iterator[Steps]:
        """The ops for a group: for each kind, and number of steps made, one."""
        if self._by_expression(group):
            yield from super()._steps(group)
            return
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
                state = self.state.get(param) or self._start(param, group)
                if grad._in_parts:  # which it refuses
                    self._step_by_rows(param, grad, state, group)
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
        foreach, fused, capturable: torch's choice of kernels; taken, without effect.
        differentiable: whether the step is recorded.

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


@function_of(Adam, kept=_LISTS, pairs={"betas": ("beta1", "beta2")})
def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of `Adam`, whose lists are written in place."""


@function_of(
    AdamW, kept=_LISTS, pairs={"betas": ("beta1", "beta2")}, decoupled_weight_decay=True
)
def adamw(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of `AdamW`, whose lists are written in place."""
