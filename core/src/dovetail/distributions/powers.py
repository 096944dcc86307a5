"""Distributions of real numbers whose quantiles are powers and logarithms."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import ArgumentError

from . import constraints
from .constraints import Constraint
from .distribution import Distribution, ExponentialFamily
from .mapped import Mapped
from .quantiles import EULER, ByQuantile
from .transforms import AffineTransform, ExpTransform, PowerTransform, Transform


class Uniform(ByQuantile):
    """All values between two are equally likely."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "low": constraints.real, "high": constraints.real,
    }  # fmt: skip
    low: Tensor
    high: Tensor

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._keep(validate_args, low=low, high=high)
        if self._validate_args:
            wider = constraints.greater_than(self.low)
            if not bool(wider.check(self.high).all().item()):
                raise ArgumentError(
                    "Uniform", "high", was=self.high, needed="above low"
                )

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        return (self.low + self.high) / 2

    @property
    def mode(self) -> Any:
        return ft.full_like(self.high, math.nan)

    @property
    def variance(self) -> Any:
        return (self.high - self.low) ** 2 / 12

    def _draw(self, shape: Size) -> Any:
        drawn = ft.rand(tuple(shape), dtype=self.low.dtype, device=self.low.device)
        return self.icdf(drawn)

    def _log_prob(self, value: Tensor) -> Any:
        within = (value >= self.low) & (value < self.high)
        return ft.log(within.to(self.low.dtype)) - ft.log(self.high - self.low)

    def _cdf(self, value: Tensor) -> Any:
        return ft.clamp((value - self.low) / (self.high - self.low), 0, 1)

    def icdf(self, value: Tensor) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return ft.log(self.high - self.low)


class Exponential(ByQuantile, ExponentialFamily):
    """The time to the next event, at a rate."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"rate": constraints.positive}
    support = constraints.nonnegative
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._keep(validate_args, rate=rate)

    @property
    def mean(self) -> Any:
        return 1 / self.rate

    stddev = mean

    @property
    def mode(self) -> Any:
        return ft.zeros_like(self.rate)

    @property
    def variance(self) -> Any:
        return self.rate**-2

    def _log_prob(self, value: Tensor) -> Any:
        return ft.log(self.rate) - self.rate * value

    def _cdf(self, value: Tensor) -> Any:
        return -ft.expm1(-self.rate * value)

    def icdf(self, value: Tensor) -> Any:
        return -ft.log1p(-value) / self.rate

    def entropy(self) -> Any:
        return 1 - ft.log(self.rate)


class Weibull(ByQuantile, Mapped):
    """A power of an exponential value."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "scale": constraints.positive, "concentration": constraints.positive,
    }  # fmt: skip
    support = constraints.positive
    scale: Tensor
    concentration: Tensor

    def __init__(
        self, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self._keep(validate_args, scale=scale, concentration=concentration)

    def _map(self) -> tuple[Distribution, list[Transform]]:
        base = Exponential(ft.ones_like(self.scale), validate_args=False)
        power = PowerTransform(1 / self.concentration)
        return base, [power, AffineTransform(0, self.scale)]

    def _moment(self, order: int) -> Any:
        return ft.exp(ft.lgamma(1 + order / self.concentration))

    @property
    def mean(self) -> Any:
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Any:
        k = self.concentration
        return self.scale * (ft.clamp(k - 1, min=0) / k) ** (1 / k)

    @property
    def variance(self) -> Any:
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    def _log_prob(self, value: Tensor) -> Any:
        k, log = self.concentration, ft.log(value / self.scale)
        return ft.log(k / self.scale) + (k - 1) * log - ft.exp(k * log)

    def _cdf(self, value: Tensor) -> Any:
        return -ft.expm1(-((value / self.scale) ** self.concentration))

    def icdf(self, value: Tensor) -> Any:
        return self.scale * (-ft.log1p(-value)) ** (1 / self.concentration)

    def entropy(self) -> Any:
        k = self.concentration
        return EULER * (1 - 1 / k) + ft.log(self.scale / k) + 1


class Pareto(ByQuantile, Mapped):
    """Values above one, whose logarithms are exponential."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "alpha": constraints.positive, "scale": constraints.positive,
    }  # fmt: skip
    scale: Tensor
    alpha: Tensor

    def __init__(
        self, scale: Any, alpha: Any, validate_args: bool | None = None
    ) -> None:
        self._keep(validate_args, scale=scale, alpha=alpha)

    def _map(self) -> tuple[Distribution, list[Transform]]:
        base = Exponential(self.alpha, validate_args=False)
        return base, [ExpTransform(), AffineTransform(0, self.scale)]

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Any:
        a = ft.clamp(self.alpha, min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        a = ft.clamp(self.alpha, min=2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def _log_prob(self, value: Tensor) -> Any:
        a = self.alpha
        return ft.log(a) + a * ft.log(self.scale) - (a + 1) * ft.log(value)

    def _cdf(self, value: Tensor) -> Any:
        return -ft.expm1(self.alpha * ft.log(self.scale / value))

    def icdf(self, value: Tensor) -> Any:
        return self.scale * ft.exp(-ft.log1p(-value) / self.alpha)

    def entropy(self) -> Any:
        return ft.log(self.scale / self.alpha) + 1 + 1 / self.alpha


class Kumaraswamy(ByQuantile, Mapped):
    """Values in 0 … 1, much as Beta's, with a cdf in closed form."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip
    support = constraints.unit_interval
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

    def _map(self) -> tuple[Distribution, list[Transform]]:
        a, b = self.concentration1, self.concentration0
        base = Uniform(ft.zeros_like(a), ft.ones_like(a), validate_args=False)
        return base, [
            PowerTransform(1 / b), AffineTransform(1, -ft.ones_like(a)),
            PowerTransform(1 / a),
        ]  # fmt: skip

    def _moment(self, order: int) -> Any:
        a, b = 1 + order / self.concentration1, self.concentration0
        return ft.exp(ft.log(b) + ft.lgamma(a) + ft.lgamma(b) - ft.lgamma(a + b))

    @property
    def mean(self) -> Any:
        return self._moment(1)

    @property
    def variance(self) -> Any:
        return self._moment(2) - self._moment(1) ** 2

    @property
    def mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)) ** (1 / a)
        inside = (a >= 1) & (b >= 1) & ~((a == 1) & (b == 1))
        return ft.where(inside, found, ft.full_like(found, math.nan))

    def _log_prob(self, value: Tensor) -> Any:
        a, b = self.concentration1, self.concentration0
        rest = (b - 1) * ft.log1p(-(value**a))
        return ft.log(a) + ft.log(b) + (a - 1) * ft.log(value) + rest

    def _cdf(self, value: Tensor) -> Any:
        rest = ft.log1p(-(value**self.concentration1))
        return -ft.expm1(self.concentration0 * rest)

    def icdf(self, value: Tensor) -> Any:
        rest = -ft.expm1(ft.log1p(-value) / self.concentration0)
        return rest ** (1 / self.concentration1)

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        harmonic = ft.digamma(b + 1) + EULER
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - ft.log(a) - ft.log(b)


__all__ = ["Exponential", "Kumaraswamy", "Pareto", "Uniform", "Weibull"]
