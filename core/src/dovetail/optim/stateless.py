"""An optimizer that for a while works on other parameters, with another state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from .optimizer import Optimizer

_OP = "swap_in_optimizer_params_and_state"
Group = dict[str, Any]


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: Mapping[str, Tensor],
    swapin_optim_state: Mapping[str, Any],
) -> Iterator[None]:  # fmt: skip
    """Let an optimizer have these parameters and this state until the block ends.

    Tensors of the state are written in place; numbers that change in the block, such as
    counts of steps, do not reach `swapin_optim_state`.

    Args:
        optimizer: one whose state is there, because it has made a step.
        swapin_parameters: as many as the optimizer has, in its order.
        swapin_optim_state: what `state_dict()` of such an optimizer gave.

    Raises: ArgumentError for a state that does not fit the optimizer.
    """
    state, groups = _checked(optimizer, swapin_optim_state)
    params = list(swapin_parameters.values())
    count = sum(len(group["params"]) for group in groups)
    if len(params) < count:
        raise _refused("swapin_parameters", f"{len(params)} of them", f"{count}")
    new_state: defaultdict[Any, Any] = defaultdict(dict)
    new_groups, rest = [], iter(params)
    for group in groups:
        own = [next(rest) for _ in group["params"]]
        new_groups.append({**group, "params": own})
        for number, param in zip(group["params"], own, strict=True):
            new_state[param] = _for_steps(optimizer, state.get(number, {}))
    before = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        _put(optimizer, new_state, new_groups)
        yield
    finally:
        _put(optimizer, *before)


def _put(optimizer: Optimizer, state: Any, groups: Sequence[Group]) -> None:
    """Change the groups as they are, for schedulers hold them."""
    for mine, group in zip(optimizer.param_groups, groups, strict=True):
        mine.clear()
        mine.update(group)
    optimizer.state = state


def _for_steps(optimizer: Optimizer, state: Mapping[str, Any]) -> dict[str, Any]:
    """One parameter's state as steps have it: counts are floats, not tensors."""
    return {
        name: float(value) if name in optimizer.accumulates else value
        for name, value in state.items()
    }


def _checked(
    optimizer: Optimizer, given: Mapping[str, Any]
) -> tuple[Mapping[Any, Any], list[Group]]:
    """State and groups, if they are such as the optimizer's own."""
    if not optimizer.state:
        raise _refused("optimizer", "without state", "one that has made a step")
    if not {"state", "param_groups"} <= given.keys():
        was = f"a dict of {sorted(given)}"
        raise _refused("swapin_optim_state", was, "what state_dict() gives")
    state, groups = given["state"], list(given["param_groups"])
    if len(groups) != len(optimizer.param_groups):
        needed = f"{len(optimizer.param_groups)} groups"
        raise _refused("swapin_optim_state", f"{len(groups)} groups", needed)
    for i, (mine, group) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        if mine.keys() != group.keys():
            was = f"group {i} with {sorted(group)}"
            raise _refused("swapin_optim_state", was, f"{sorted(mine)}")
        if len(mine["params"]) != len(group["params"]):
            was = f"group {i} of {len(group['params'])} parameters"
            raise _refused("swapin_optim_state", was, f"{len(mine['params'])}")
    extra = set(state) - {number for group in groups for number in group["params"]}
    if extra:
        was = f"state of {sorted(extra, key=repr)}"
        raise _refused("swapin_optim_state", was, "keys that its groups have")
    return state, groups


def _refused(argument: str, was: str, needed: str) -> ArgumentError:
    return ArgumentError(_OP, argument, was=was, needed=needed)
