"""Gamma values, sums of squares, and inverses of either."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size

from . import constraints
from .constraints import Constraint
from .distribution import Distribution, ExponentialFamily
from .gamma_gradient import standard_gamma
from .mapped import Mapped
from .transforms import PowerTransform, Transform


class Gamma(ExponentialFamily):
    """The time to several events.

    Args:
        concentration: how many events.
        rate: of them.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration": constraints.positive, "rate": constraints.positive,
    }  # fmt: skip
    support: Any = constraints.nonnegative
    has_rsample = True
    concentration: Tensor
    rate: Tensor

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool | None = None
    ) -> None:
        self._keep(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ft.clamp((self.concentration - 1) / self.rate, min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate**2

    def _draw(self, shape: Size) -> Any:
        return standard_gamma(self.concentration.expand(shape)) / self.rate

    def _log_prob(self, value: Tensor) -> Any:
        a, rate = self.concentration, self.rate
        shape = ft.xlogy(a, rate) + ft.xlogy(a - 1, value)
        return shape - rate * value - ft.lgamma(a)

    def _cdf(self, value: Tensor) -> Any:
        return self.concentration.igamma(self.rate * value)

    def entropy(self) -> Any:
        a = self.concentration
        return a - ft.log(self.rate) + ft.lgamma(a) + (1 - a) * ft.digamma(a)


class Chi2(Gamma):
    """The sum of squares of normal values.

    Args:
        df: how many.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        self._keep(validate_args, df=df)

    df: Tensor

    @property
    def concentration(self) -> Any:  # type: ignore[override]
        """Half the degrees of freedom."""
        return self.df / 2

    @property
    def rate(self) -> Any:  # type: ignore[override]
        """One half."""
        return ft.full_like(self.df, 0.5)


class InverseGamma(Mapped):
    """One over a gamma value.

    Args:
        concentration, rate: of the gamma value.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration": constraints.positive, "rate": constraints.positive,
    }  # fmt: skip
    support = constraints.positive
    has_rsample = True
    concentration: Tensor
    rate: Tensor

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool | None = None
    ) -> None:
        self._keep(validate_args, concentration=concentration, rate=rate)

    def _map(self) -> tuple[Distribution, list[Transform]]:
        base = Gamma(self.concentration, self.rate, validate_args=False)
        return base, [PowerTransform(-ft.ones_like(self.rate))]

    @property
    def mean(self) -> Any:
        a = self.concentration
        infinite = ft.full_like(a, math.inf)
        return ft.where(a > 1, self.rate / (a - 1), infinite)

    @property
    def mode(self) -> Any:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        a = self.concentration
        infinite = ft.full_like(a, math.inf)
        return ft.where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), infinite)

    def _draw(self, shape: Size) -> Any:
        return self.rate / standard_gamma(self.concentration.expand(shape))

    def _log_prob(self, value: Tensor) -> Any:
        a, rate = self.concentration, self.rate
        shape = ft.xlogy(a, rate) - (a + 1) * ft.log(value)
        return shape - rate / value - ft.lgamma(a)

    def _cdf(self, value: Tensor) -> Any:
        # Not one less what is below, of which nothing would be left where it is small.
        return self.concentration.igammac(self.rate / value)

    def entropy(self) -> Any:
        a = self.concentration
        return a + ft.log(self.rate) + ft.lgamma(a) - (1 + a) * ft.digamma(a)


__all__ = ["Chi2", "Gamma", "InverseGamma"]
