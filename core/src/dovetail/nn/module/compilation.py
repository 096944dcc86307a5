"""Modules whose calls are captured, by `dovetail.compile` or `Module.compile`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .attributes import note_use
from .module import Module


class OptimizedModule(Module):
    """A module around another one, whose calls are captured.

    As in torch, its `state_dict` has the names of the module with the prefix
    `_orig_mod.`, and all other attributes are the module's own.
    """

    _orig_mod: Module

    def __init__(self, module: Module, following: Callable[..., Any]) -> None:
        super().__init__()
        self.__dict__["_following"] = following
        self._modules["_orig_mod"] = module
        self._begin()

    def _begin(self) -> None:
        follow, module = self.__dict__["_following"], self._orig_mod
        self.__dict__["forward"] = follow(module, type(module).__name__)

    def report(self) -> Any:
        """What calls did, and why: a `dovetail.compiler.Report`."""
        return self.__dict__["forward"].report()

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    @property
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "forward"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()


def _compile(self: Module, *args: Any, **kwargs: Any) -> None:
    """Let calls of this module go through `dovetail.compile`, with its arguments.

    Unlike `dovetail.compile(module)` it changes this module, and no names.
    """
    from dovetail.compiler import compile  # few programs ask for it

    self.__dict__["_compiled_call"] = compile(self._call_plain, *args, **kwargs)
    note_use()


Module.compile = _compile
Module._compiled = OptimizedModule  # type: ignore[attr-defined]
