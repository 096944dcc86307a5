"""Weights divided by their greatest singular value before each call."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError

from .. import functional as F
from ..module import Module
from .parametrizations import as_matrix
from .weight_hooks import refuse_second, remove_hook


class SpectralNorm:
    """The hook of `spectral_norm`."""

    def __init__(
        self, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> None:
        if n_power_iterations <= 0:
            raise ArgumentError(
                "spectral_norm", "n_power_iterations", was=n_power_iterations,
                needed="1 or more",
            )  # fmt: skip
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight over its greatest singular value, which is followed if asked."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.mT @ u, dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix @ v, dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()
        scaled: Tensor = weight / (u * (matrix @ v)).sum()
        return scaled

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, False)
        delattr(module, self.name)
        for end in ("_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1,
    eps: float = 1e-12, dim: int | None = None,
) -> Module:  # fmt: skip
    """Have a weight divided by its greatest singular value (arXiv:1802.05957).

    `nn.utils.parametrizations.spectral_norm` does the same by a parametrisation.
    """
    refuse_second("spectral_norm", SpectralNorm, module, name)
    if dim is None:
        dim = 1 if getattr(module, "transposed", False) else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters.get(name)
    if weight is None:
        raise ArgumentError(
            "spectral_norm", "name", was=repr(name),
            needed=f"a parameter of the {type(module).__name__}",
        )  # fmt: skip
    matrix = as_matrix(weight.detach(), dim)
    rows, columns = matrix.shape
    kind = {"dtype": matrix.dtype, "device": matrix.device}
    del module._parameters[name]
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach())
    for end, size in (("_u", rows), ("_v", columns)):
        vector = F.normalize(ft.randn(size, **kind), dim=0, eps=eps)
        module.register_buffer(name + end, vector)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undo `spectral_norm`; the weight keeps its value."""
    return remove_hook("spectral_norm", SpectralNorm, module, name)
