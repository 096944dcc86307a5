"""`Optimizer`: parameter groups, state, and the form in which both are kept."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.device_api.graphs import recording
from dovetail.engine.annotations import conforms
from dovetail.engine.missing_names import missing_name
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, CaptureError, NotSupported
from dovetail.nn.parameter import clear_grad

from .grouping import by_device_and_dtype
from .optimizer_hooks import (
    OptimizerHooks,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    with_hooks,
)

__all__ = [
    "Optimizer", "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]  # fmt: skip

Params = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


class Optimizer(OptimizerHooks):
    """Base class of optimizers: a subclass defines `step` and its defaults.

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and
            options of their own.
        defaults: the options of groups that do not have their own.

    Attributes:
        param_groups: dicts of options; "params" lists the parameters.
        state: for each parameter, what the optimizer keeps.
    """

    # Numbers that are kept for a parameter, with their values before the first step: as
    # Python floats, which are fast; a state dict has tensors, as torch's.
    accumulates: ClassVar[Mapping[str, float]] = {}

    # Optimizers of others call these.
    _group_tensors_by_device_and_dtype = staticmethod(by_device_and_dtype)
    profile_hook_step = staticmethod(with_hooks)

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._add_hook_tables()
        if isinstance(params, Tensor):
            raise ArgumentTypeError(
                type(self).__name__, "params", was="a single tensor",
                needed="an iterable of tensors or dicts", remedy="pass [tensor]",
            )  # fmt: skip
        if not conforms("Iterable[Any]", params):
            raise ArgumentTypeError(
                type(self).__name__, "params", was=f"a {type(params).__name__}",
                needed="an iterable of tensors or dicts",
            )  # fmt: skip
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ArgumentError(
                type(self).__name__, "params", was="empty",
                needed="at least one parameter or group",
                remedy="a generator such as model.parameters() serves only once",
            )  # fmt: skip
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group) if isinstance(group, dict) else group)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle; options that an older one lacks have defaults."""
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._add_hook_tables()
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            named = sorted(name for name in group if name != "params")
            lines += [f"    {name}: {group[name]}" for name in named]
        return "\n".join(lines) + "\n)"

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients.

        Args:
            closure: computes the loss again and returns it.

        Returns: what `closure` returned, None without.
        """
        raise NotSupported(
            type(self).__name__, "step", was="not defined", needed="a method"
        )

    def _cuda_graph_capture_health_check(self) -> None:
        """Raise where a graph records a step that counts on the host."""
        counts = not any(group.get("capturable") for group in self.param_groups)
        if recording.get() is not None and counts:
            raise CaptureError(
                f"{type(self).__name__}.step", "graph", was="recorded, while "
                "capturable is False", needed="capturable=True, or no graph",
            )  # fmt: skip

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                clear_grad(param, set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Optimise further parameters, with options of their own.

        Raises:
            ArgumentTypeError: what is given are no tensors.
            ArgumentError: a tensor is no leaf, or is optimised already.
        """
        op = f"{type(self).__name__}.add_param_group"
        if not isinstance(param_group, dict):
            raise ArgumentTypeError(
                op, "param_group", was=type(param_group).__name__, needed="a dict"
            )
        _list_params(op, param_group)
        for param in param_group["params"]:
            self._check_param(op, param)
        for name, value in self.defaults.items():
            param_group.setdefault(name, value)
        self._check_distinct(op, param_group)
        self.param_groups.append(param_group)

    def _check_param(self, op: str, param: Any) -> None:
        if not isinstance(param, Tensor):
            raise ArgumentTypeError(
                op, "one of params", was=type(param).__name__, needed="a Tensor"
            )
        followed = self.defaults.get("differentiable") or param.retains_grad
        if not param.is_leaf and not followed:
            raise ArgumentError(
                op, "one of params", was="the result of an operation, not a leaf",
                needed="a leaf", remedy="optimise what it was computed from",
            )  # fmt: skip

    def _check_distinct(self, op: str, group: dict[str, Any]) -> None:
        params = group["params"]
        if len(params) != len(set(params)):
            warnings.warn(
                f"{op}: a parameter is in the group twice, and will be changed twice",
                stacklevel=4,
            )
        known = {param for other in self.param_groups for param in other["params"]}
        if not known.isdisjoint(params):
            raise ArgumentError(
                op, "params", was="in more than one group", needed="in one"
            )
        named = {"param_names" in other for other in self.param_groups}
        if named and named != {"param_names" in group}:
            raise ArgumentError(
                op, "params", was="with names in some groups only",
                needed="names in all groups or in none",
            )  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        """State and options with parameters numbered, in torch's form.

        Tensors are shared with the optimizer, not copied.
        """
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[Tensor, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(param, len(numbers))
            packed = {name: v for name, v in group.items() if name != "params"}
            packed["params"] = [numbers[param] for param in group["params"]]
            groups.append(packed)
        state = {
            numbers.get(key, key): self._state_to_save(value)
            for key, value in self.state.items()
        }
        made: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            changed = hook(self, made)
            made = made if changed is None else changed
        return made

    def _state_to_save(self, state: dict[str, Any]) -> dict[str, Any]:
        of_kind: dict[str, Any] = {"dtype": dtypes.float32, "device": "cpu"}
        return {
            name: ft.tensor(value, **of_kind)
            if name in self.accumulates and isinstance(value, float) else value
            for name, value in state.items()
        }  # fmt: skip

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take state and options from what `state_dict` gave.

        Tensors are moved to the parameters' devices and dtypes, and shared where
        nothing has to change.

        Raises: ArgumentError if the groups do not fit this optimizer's.
        """
        loaded = dict(state_dict)
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            changed = hook(self, loaded)
            loaded = loaded if changed is None else changed
        groups = [dict(group) for group in loaded["param_groups"]]
        self._check_loaded(groups)
        params = {
            number: param
            for group, mine in zip(groups, self.param_groups, strict=True)
            for number, param in zip(group["params"], mine["params"], strict=True)
        }
        state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        for key, value in loaded["state"].items():
            if key in params:
                state[params[key]] = self._fitted(value, params[key])
            else:
                state[key] = value
        for group, mine in zip(groups, self.param_groups, strict=True):
            group["params"] = mine["params"]
            if "param_names" in mine:
                group["param_names"] = mine["param_names"]
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def _check_loaded(self, groups: list[dict[str, Any]]) -> None:
        have = [len(group["params"]) for group in self.param_groups]
        given = [len(group["params"]) for group in groups]
        if given != have:
            raise ArgumentError(
                f"{type(self).__name__}.load_state_dict", "param_groups",
                was=f"{len(given)} groups of {given} parameters",
                needed=f"{len(have)} groups of {have}, as in this optimizer",
            )  # fmt: skip

    def _fitted(self, state: Any, param: Tensor) -> Any:
        """One parameter's loaded state, on its device and in its dtype."""
        if not isinstance(state, Mapping):
            return state
        return {
            name: float(value) if name in self.accumulates
            else value if name == "step" else _like(param, value)
            for name, value in state.items()
        }  # fmt: skip


def _like(param: Tensor, value: Any) -> Any:
    """What was loaded, its tensors on the parameter's device and in its dtype."""
    if isinstance(value, Tensor):
        dtype = param.dtype if param.is_floating_point() else value.dtype
        return value.to(dtype=dtype, device=param.device)
    if isinstance(value, Mapping):
        return {name: _like(param, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_like(param, item) for item in value)
    return value


def _list_params(op: str, group: dict[str, Any]) -> None:
    """Make the params of a group a list, and set their names apart."""
    params = group["params"]
    if isinstance(params, set):
        raise ArgumentTypeError(
            op, "params", was="a set", needed="an ordered collection",
            remedy="the order of a set differs from run to run; give a list",
        )  # fmt: skip
    listed = [params] if isinstance(params, Tensor) else list(params)
    if listed and isinstance(listed[0], tuple):
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in listed):
            raise ArgumentTypeError(
                op, "params", was="partly with names", needed="all with names, or none"
            )
        group["params"] = [param for _, param in listed]
        group["param_names"] = [name for name, _ in listed]
    else:
        group["params"] = listed


# What older programs mark parameters with that have no default.
required: Final = object()

if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
