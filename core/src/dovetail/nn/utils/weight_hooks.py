"""Hooks that compute a module's weight before each call, found by the weight's name."""

from __future__ import annotations

from typing import Any

from dovetail.errors import ArgumentError

from ..module import Module


def refuse_second(function: str, kind: type[Any], module: Module, name: str) -> None:
    """Raise where a weight is computed by such a hook already."""
    if _key_of(kind, module, name) is not None:
        raise ArgumentError(
            function, "name", was=f"{name!r}, which is normalised already",
            needed="another one",
        )  # fmt: skip


def remove_hook(function: str, kind: type[Any], module: Module, name: str) -> Module:
    """Undo what `function` did to a weight, which keeps its value."""
    key = _key_of(kind, module, name)
    if key is None:
        raise ArgumentError(
            f"remove_{function}", "name", was=f"{name!r} of a {type(module).__name__}",
            needed=f"a weight that {function} has changed",
        )  # fmt: skip
    hook: Any = module._forward_pre_hooks[key]
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def _key_of(kind: type[Any], module: Module, name: str) -> int | None:
    """By which number a module keeps the hook of a weight."""
    hooks: Any = module._forward_pre_hooks
    for key, hook in hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return int(key)
    return None
