"""Weights as direction and magnitude, computed before each call."""

from __future__ import annotations

from typing import Any

from dovetail.engine.tensor import Parameter

from ..module import Module
from .parametrizations import norm_except
from .weight_hooks import refuse_second, remove_hook


class WeightNorm:
    """The hook of `weight_norm`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """The weight of its two parts."""
        g = getattr(module, f"{self.name}_g")
        v = getattr(module, f"{self.name}_v")
        return v * (g / norm_except(v, self.dim))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module).detach()
        for name in (self.name, f"{self.name}_g", f"{self.name}_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Have a weight be `name_v` in direction, `name_g` in magnitude (arXiv:1602.07868).

    `nn.utils.parametrizations.weight_norm` does the same by a parametrisation.
    """
    refuse_second("weight_norm", WeightNorm, module, name)
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    del module._parameters[name]
    magnitude = norm_except(weight.detach(), hook.dim)
    module.register_parameter(f"{name}_g", Parameter(magnitude))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undo `weight_norm`; the weight keeps its value."""
    return remove_hook("weight_norm", WeightNorm, module, name)
