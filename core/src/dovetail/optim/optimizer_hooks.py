"""Hooks around an optimizer's steps and state dicts."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.public import constructor
from dovetail.tensor_api.hook_handle import RemovableHandle, add_hook

HOOK_TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


# Called around the steps of all optimizers.
_before_all: Final[OrderedDict[int, Callable[..., Any]]] = OrderedDict()
_after_all: Final[OrderedDict[int, Callable[..., Any]]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of any optimizer.

    It returns None, or a pair of new positional and named arguments.
    """
    return add_hook(_before_all, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of any optimizer."""
    return add_hook(_after_all, hook)


class OptimizerHooks:
    """The part of `Optimizer` that calls what others registered."""

    _optimizer_step_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_step_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__ and cls.__module__.startswith("dovetail."):
            made = constructor(cls.__dict__["__init__"], cls.__name__)
            setattr(cls, "__init__", made)  # noqa: B010
        if "step" in cls.__dict__:
            setattr(cls, "step", with_hooks(cls.__dict__["step"]))  # noqa: B010

    def _add_hook_tables(self) -> None:
        for table in HOOK_TABLES:
            setattr(self, table, OrderedDict())
        self._opt_called = False

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step.

        It returns None, or a pair of new positional and named arguments.
        """
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict` is made."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` when it is made; a result replaces it."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before it is loaded."""
        return add_hook(
            self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend
        )

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after a state dict was loaded."""
        return add_hook(
            self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend
        )


def with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A `step` method that runs the optimizer's hooks around it."""

    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if type(self).step is not hooked:  # called by a subclass's step, by super()
            return step(self, *args, **kwargs)
        if "_optimizer_step_pre_hooks" not in vars(
            self
        ):  # not made by Optimizer's init
            return step(self, *args, **kwargs)
        before = self._optimizer_step_pre_hooks
        for hook in [*_before_all.values(), *before.values()]:
            changed = hook(self, args, kwargs)
            if changed is not None:
                args, kwargs = changed
        self._opt_called = True
        result = step(self, *args, **kwargs)
        after = self._optimizer_step_post_hooks
        for hook in [*after.values(), *_after_all.values()]:
            hook(self, args, kwargs)
        return result

    return hooked
