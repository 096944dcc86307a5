"""Hooks of all modules: called around each call of any, before the module's own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from dovetail.errors import CallOrderError
from dovetail.tensor_api.hook_handle import RemovableHandle, add_hook

from .attributes import HookTable, held

Hook = Callable[..., Any]
before: Final = HookTable()
after: Final = HookTable()
after_with_kwargs: Final[OrderedDict[int, bool]] = OrderedDict()
after_always: Final[OrderedDict[int, bool]] = OrderedDict()
backward_before: Final = HookTable()
backward: Final = HookTable()
TABLES: Final = (before, after, backward_before, backward)
# Holds something once there was any: calls look here alone before.
ever: Final[list[bool]] = []
# Whether the backward hooks are full ones; as long as there are any, all are alike.
_full: Final[list[bool]] = []


def _added(table: HookTable, hook: Hook, flags: Any = ()) -> RemovableHandle:
    ever.append(True)
    return add_hook(table, hook, flags=flags)


def backward_hooks(full: bool) -> list[Hook]:
    """Those that see gradients of inputs, if they are of that kind."""
    return list(backward.values()) if backward and _full == [full] else []


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before each module; its result replaces `args`."""
    return _added(before, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after each; its result replaces the output.

    Args:
        with_kwargs: it is called as `hook(module, args, kwargs, output)`.
        always_call: it runs also after an error, with None for the output.
    """
    flags: list[Any] = [after_with_kwargs] if with_kwargs else []
    flags += [after_always] if always_call else []
    return _added(after, hook, flags)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before each module is differentiated."""
    return _added(backward_before, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` once a module's gradients are known.

    Raises: CallOrderError where there are hooks of `register_module_backward_hook`.
    """
    _set_kind(True)
    return _added(backward, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """The older form: gradients of the last op of the module.

    Raises: CallOrderError where there are full backward hooks.
    """
    _set_kind(False)
    return _added(backward, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, param)` for each that a module comes to hold."""
    return add_hook(held["parameter"], hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` for each that a module comes to hold."""
    return add_hook(held["buffer"], hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` for each that a module comes to hold."""
    return add_hook(held["module"], hook)


def _set_kind(full: bool) -> None:
    if backward and _full != [full]:
        raise mixed("as a global Module hook")
    _full[:] = [full]


def mixed(where: str) -> CallOrderError:
    """What is said of backward hooks of both kinds."""
    return CallOrderError(
        "register_backward_hook", "hook", was="of the other kind than those there are",
        needed=f"one kind: Cannot use both regular backward hooks and full backward "
        f"hooks {where}", remedy="use full ones",
    )  # fmt: skip
