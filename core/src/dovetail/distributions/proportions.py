"""Probabilities that are drawn: of several classes, and of one event."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size

from . import constraints
from .constraints import Constraint
from .distribution import ExponentialFamily
from .gamma_gradient import standard_gamma


class Dirichlet(ExponentialFamily):
    """Probabilities of classes.

    Args:
        concentration: [..., classes].
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration": constraints.independent(constraints.positive, 1)
    }
    event_dims: ClassVar[dict[str, int]] = {"concentration": 1}
    support: Any = constraints.simplex
    has_rsample = True
    concentration: Tensor

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        self._keep(validate_args, concentration=concentration)

    def _event_of(self, tensors: dict[str, Tensor]) -> Any:
        return tensors["concentration"].shape[-1:]

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, keepdim=True)
        mean = self.concentration / total
        return mean * (1 - mean) / (total + 1)

    @property
    def mode(self) -> Any:
        more = ft.clamp(self.concentration - 1, min=0)
        inside = more / more.sum(-1, keepdim=True)
        numbers = ft.arange(more.shape[-1], device=more.device)
        corner = numbers == self.concentration.argmax(-1, keepdim=True)
        at_corner = (self.concentration < 1).all(-1, keepdim=True)
        return ft.where(at_corner, corner.to(more.dtype), inside)

    def _draw(self, shape: Size) -> Any:
        drawn = standard_gamma(self.concentration.expand(shape))
        return drawn / drawn.sum(-1, keepdim=True)

    def _log_prob(self, value: Tensor) -> Any:
        a = self.concentration
        return ft.xlogy(a - 1, value).sum(-1) - self._log_norm()

    def _log_norm(self) -> Any:
        a = self.concentration
        return ft.lgamma(a).sum(-1) - ft.lgamma(a.sum(-1))

    def entropy(self) -> Any:
        a = self.concentration
        total = a.sum(-1)
        rest = (total - a.shape[-1]) * ft.digamma(total)
        return self._log_norm() + rest - ((a - 1) * ft.digamma(a)).sum(-1)


class Beta(ExponentialFamily):
    """A probability.

    Args:
        concentration1, concentration0: of what speaks for it, and against.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip
    support: Any = constraints.unit_interval
    has_rsample = True
    concentration1: Tensor
    concentration0: Tensor

    def __init__(
        self,
        concentration1: Any,
        concentration0: Any,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._keep(
            validate_args, concentration1=concentration1, concentration0=concentration0
        )

    @property
    def _pair(self) -> Dirichlet:
        both = ft.stack([self.concentration1, self.concentration0], -1)
        return Dirichlet(both, validate_args=False)

    @property
    def mean(self) -> Any:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        return self._pair.mode[..., 0]

    @property
    def variance(self) -> Any:
        return self._pair.variance[..., 0]

    def _draw(self, shape: Size) -> Any:
        return self._pair._draw(Size((*shape, 2)))[..., 0]

    def _log_prob(self, value: Tensor) -> Any:
        return self._pair._log_prob(ft.stack([value, 1 - value], -1))

    def entropy(self) -> Any:
        return self._pair.entropy()


__all__ = ["Beta", "Dirichlet"]
