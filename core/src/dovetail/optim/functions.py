"""Functions of optimizers: one step of lists of tensors, whose state the caller keeps.

    @function_of(Adamax, kept={"exp_avgs": "exp_avg", "exp_infs": "exp_inf"}, ...)
    def adamax(params, grads, exp_avgs, exp_infs, state_steps, ..., *, lr, ...) -> None:
        ...

The signature says which arguments there are, the optimizer what a step is.
"""

from __future__ import annotations

import functools
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, cast

from dovetail.engine.modes import GradMode, no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, NotSupported

from .expression import ExpressionOptimizer, State
from .steps import Steps, run_all

Function = TypeVar("Function", bound=Callable[..., None])
Lists = Mapping[str, str]

_NONE: Lists = MappingProxyType({})
_STEPS: Lists = MappingProxyType({"state_steps": "step"})
# What torch has for its kernels of several kinds, and changes no step.
_WAYS = frozenset({
    "capturable", "differentiable", "foreach", "fused", "has_complex",
    "has_sparse_grad",
})  # fmt: skip
_OF_SCALERS = ("grad_scale", "found_inf")


def function_of(
    optimizer: type[ExpressionOptimizer], *, kept: Lists = _NONE,
    counts: Lists = _STEPS, pairs: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    **others: Any,
) -> Callable[[Function], Function]:  # fmt: skip
    """Make a signature the function that does an optimizer's step.

    Args:
        kept: arguments that are lists of tensors, by what the optimizer calls these.
        counts: arguments that are lists of numbers as tensors, in the same way.
        pairs: options that are made of two arguments.
        others: options that are no arguments.
    """

    def complete(signed: Function) -> Function:
        signature = inspect.signature(signed)

        @functools.wraps(signed)
        def call(*args: Any, **kwargs: Any) -> None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = dict(bound.arguments)
            name = signed.__name__
            _refuse_scalers(name, given)
            params, grads = given.pop("params"), given.pop(_grads(given))
            lists = {own: given.pop(argument) for argument, own in kept.items()}
            numbers = {own: given.pop(argument) for argument, own in counts.items()}
            _check_numbers(name, {a: numbers[own] for a, own in counts.items()})
            for option, names in pairs.items():
                given[option] = tuple(given.pop(each) for each in names)
            recorded = bool(given.get("differentiable"))
            options = {n: v for n, v in given.items() if n not in _WAYS} | others
            call = _Call(optimizer, recorded, options, lists, numbers)
            call.run(name, params, grads)

        return cast(Function, call)

    return complete


def _grads(given: dict[str, Any]) -> str:
    return "grads" if "grads" in given else "d_p_list"


def _refuse_scalers(name: str, given: dict[str, Any]) -> None:
    for argument in _OF_SCALERS:
        if given.pop(argument, None) is not None:
            raise NotSupported(
                name, argument, was="a tensor", needed="None",
                remedy="unscale the gradients before the step: `GradScaler.unscale_`",
            )  # fmt: skip


def _check_numbers(name: str, counts: dict[str, Any]) -> None:
    for argument, numbers in counts.items():
        if not all(isinstance(n, Tensor) for n in numbers):
            raise ArgumentError(
                name, argument, was="with numbers of Python's in it",
                needed="a list of singleton tensors",
            )  # fmt: skip


class _Call:
    """One call: an optimizer whose parameters and state are the call's alone."""

    def __init__(
        self, optimizer: type[ExpressionOptimizer], recorded: bool,
        options: dict[str, Any], kept: dict[str, Any], counts: dict[str, Any],
    ) -> None:  # fmt: skip
        self._own = object.__new__(optimizer)
        self._own.defaults = {"differentiable": recorded}
        self._own.state = defaultdict(dict)
        self._recorded = recorded
        self._options, self._kept, self._counts = options, kept, counts

    def run(self, name: str, params: Sequence[Tensor], grads: Sequence[Tensor]) -> None:
        """Step all parameters, or where one is refused, none."""
        # Memory is what a step writes; a tensor of the call's own may have a gradient.
        own = [p if self._recorded else p.detach() for p in params]
        group = {**self._options, "params": own}
        self._check_lists(name, own, group)
        states = [self._state(p, i) for i, p in enumerate(own)]
        with GradMode(self._recorded):
            if self._recorded:
                steps = list(self._by_expression(group, own, grads, states))
            else:
                for p, grad in zip(own, grads, strict=True):
                    p.grad = grad.detach()
                steps = list(self._own._steps(group))
            run_all(name, steps)
        self._write_back(own)

    def _check_lists(self, name: str, params: Sequence[Tensor], group: Any) -> None:
        """Raise where a list has not one entry for each parameter."""
        kept = {n for p in params[:1] for n in self._own._kept(p, group)}
        lists = {**self._counts, **{n: self._kept[n] for n in kept}}
        for own, given in lists.items():
            if len(given) != len(params):
                raise ArgumentError(
                    name, own, was=f"a list of {len(given)}",
                    needed=f"one entry for each of {len(params)} parameters",
                )  # fmt: skip

    def _state(self, param: Tensor, i: int) -> State:
        state = {name: float(numbers[i]) for name, numbers in self._counts.items()}
        held = {name: tensors[i] for name, tensors in self._kept.items() if tensors}
        found = {**state, **{n: x for n, x in held.items() if x is not None}}
        if found:
            self._own.state[param] = found
        return found

    def _by_expression(
        self, group: dict[str, Any], params: Sequence[Tensor], grads: Sequence[Tensor],
        states: Sequence[State],
    ) -> Iterator[Steps]:  # fmt: skip
        for param, grad, found in zip(params, grads, states, strict=True):
            names = self._own._kept(param, group)
            state = found
            first = not all(name in state for name in names)
            if first:
                state = self._own._start(param, group)
            kept = {name: state[name] for name in names}
            run = functools.partial(
                self._own._run, param, grad, state, kept, group, first
            )
            yield Steps([param], [grad], [[x] for x in kept.values()], run)

    def _write_back(self, params: Sequence[Tensor]) -> None:
        """What the step counted and made, in the lists of the caller."""
        with no_grad():
            for i, param in enumerate(params):
                state = self._own.state[param]
                for name, numbers in self._counts.items():
                    numbers[i].fill_(state[name])
                for name, tensors in self._kept.items():
                    if tensors and tensors[i] is None:
                        tensors[i] = state.get(name)
