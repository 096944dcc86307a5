"""Loading a state dict: down the tree of modules, each with the keys under its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError

from .errors import _IncompatibleKeys

if TYPE_CHECKING:
    from .module import Module


class Loading:
    """One `load_state_dict`, and what it found on its way down the tree."""

    def __init__(self, metadata: Mapping[str, Any] | None, assign: bool) -> None:
        self.metadata = metadata or {}
        self.assign = assign
        self.incompatible = _IncompatibleKeys([], [])
        self.problems: list[str] = []

    def visit(self, module: Module, state_dict: Mapping[str, Any], prefix: str) -> None:
        """Load `module`, then each child with the keys that are under its name."""
        local = dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            local["assign_to_params_buffers"] = True
        missing, unexpected = self.incompatible
        module._load_from_state_dict(
            state_dict, prefix, local, True, missing, unexpected, self.problems
        )
        for name, child in module._modules.items():
            if child is not None:
                path = f"{prefix}{name}."
                below = {k: v for k, v in state_dict.items() if k.startswith(path)}
                self.visit(child, below, path)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, self.incompatible) is not None:
                raise ArgumentError(
                    "load_state_dict", "the result of a post hook", was="not None",
                    needed="None", remedy="change incompatible_keys in place",
                )  # fmt: skip


def like(tensor: Tensor, given: Tensor) -> Tensor:
    """`given` as what `tensor` is: a parameter with its requires_grad, or a buffer."""
    if isinstance(tensor, Parameter):
        if not isinstance(given, Parameter):
            given = Parameter(given)
        given.requires_grad_(tensor.requires_grad)
    return given
