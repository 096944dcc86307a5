"""Distributions of real numbers whose samples are expressions of uniform ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import ArgumentError
from dovetail.limits import finfo
from dovetail.special import ndtr, ndtri

from . import constraints
from .constraints import Constraint
from .distribution import Distribution, ExponentialFamily

_EULER: Final = 0.5772156649015329
_LOG_ROOT_TAU: Final = 0.5 * math.log(2 * math.pi)


def uniform_like(x: Tensor, shape: Sequence[int]) -> Any:
    """Uniform numbers in (0, 1), of the dtype and device of `x`."""
    drawn = ft.rand(tuple(shape), dtype=x.dtype, device=x.device)
    return ft.clamp(drawn, min=finfo(x.dtype).tiny)


class _ByUniform(Distribution):
    """Distributions whose samples are `icdf` of uniform numbers."""

    has_rsample = True

    def _draw(self, shape: Size) -> Any:
        first = getattr(self, self._given()[0])
        return self.icdf(uniform_like(first, shape))


class _LocScale(_ByUniform):
    """Distributions that are another one moved and stretched."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real, "scale": constraints.positive,
    }  # fmt: skip
    support: Any = constraints.real
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._keep(validate_args, loc=loc, scale=scale)

    def _standard(self, value: Tensor) -> Any:
        return (value - self.loc) / self.scale


class Normal(_LocScale, ExponentialFamily):
    """The normal distribution, by its mean and standard deviation.

    Examples:
        >>> normal = torch.distributions.Normal(0.0, 2.0)
        >>> normal.log_prob(torch.tensor(0.0))
        tensor(-1.6121)
    """

    @property
    def mean(self) -> Any:
        return self.loc

    mode = mean

    @property
    def stddev(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        return self.scale**2

    def _draw(self, shape: Size) -> Any:
        noise = ft.randn(tuple(shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + noise * self.scale

    def _log_prob(self, value: Tensor) -> Any:
        z = self._standard(value)
        return -(z**2) / 2 - ft.log(self.scale) - _LOG_ROOT_TAU

    def _cdf(self, value: Tensor) -> Any:
        return ndtr(self._standard(value))

    def icdf(self, value: Tensor) -> Any:
        return self.loc + self.scale * ndtri(value)

    def entropy(self) -> Any:
        return 0.5 + _LOG_ROOT_TAU + ft.log(self.scale)


class Laplace(_LocScale):
    """The distribution of a difference of two exponential ones."""

    @property
    def mean(self) -> Any:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        return 2 * self.scale**2

    def _log_prob(self, value: Tensor) -> Any:
        return -ft.log(2 * self.scale) - ft.abs(self._standard(value))

    def _cdf(self, value: Tensor) -> Any:
        z = self._standard(value)
        return 0.5 - 0.5 * ft.sign(z) * ft.expm1(-ft.abs(z))

    def icdf(self, value: Tensor) -> Any:
        side = value - 0.5
        return self.loc - self.scale * ft.sign(side) * ft.log1p(-2 * ft.abs(side))

    def entropy(self) -> Any:
        return 1 + ft.log(2 * self.scale)


class Cauchy(_LocScale):
    """The distribution of a quotient of two normal ones; it has no mean."""

    @property
    def mean(self) -> Any:
        return ft.full_like(self.loc, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return ft.full_like(self.loc, math.inf)

    def _log_prob(self, value: Tensor) -> Any:
        spread = ft.log1p(self._standard(value) ** 2)
        return -math.log(math.pi) - ft.log(self.scale) - spread

    def _cdf(self, value: Tensor) -> Any:
        return ft.atan(self._standard(value)) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Any:
        return ft.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + ft.log(self.scale)


class Gumbel(_LocScale):
    """The limit of the largest of many values."""

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * _EULER

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Any:
        return self.stddev**2

    def _log_prob(self, value: Tensor) -> Any:
        y = -self._standard(value)
        return y - ft.exp(y) - ft.log(self.scale)

    def _cdf(self, value: Tensor) -> Any:
        return ft.exp(-ft.exp(-self._standard(value)))

    def icdf(self, value: Tensor) -> Any:
        return self.loc - self.scale * ft.log(-ft.log(value))

    def entropy(self) -> Any:
        return ft.log(self.scale) + (1 + _EULER)


class LogNormal(_LocScale):
    """The exponential of a normal distribution."""

    support = constraints.positive

    @property
    def _base(self) -> Normal:
        return Normal(self.loc, self.scale, validate_args=False)

    @property
    def mean(self) -> Any:
        return ft.exp(self.loc + self.scale**2 / 2)

    @property
    def mode(self) -> Any:
        return ft.exp(self.loc - self.scale**2)

    @property
    def variance(self) -> Any:
        squared = self.scale**2
        return ft.expm1(squared) * ft.exp(2 * self.loc + squared)

    def _draw(self, shape: Size) -> Any:
        return ft.exp(self._base._draw(shape))

    def _log_prob(self, value: Tensor) -> Any:
        log = ft.log(value)
        return self._base._log_prob(log) - log

    def _cdf(self, value: Tensor) -> Any:
        return self._base._cdf(ft.log(value))

    def icdf(self, value: Tensor) -> Any:
        return ft.exp(self._base.icdf(value))

    def entropy(self) -> Any:
        return self._base.entropy() + self.loc


class _Folded(_ByUniform):
    """The distance from zero of a distribution around it."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"scale": constraints.positive}
    support = constraints.nonnegative
    both: ClassVar[type[_LocScale]]
    scale: Tensor

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self._keep(validate_args, scale=scale)

    @property
    def _base(self) -> _LocScale:
        return self.both(ft.zeros_like(self.scale), self.scale, validate_args=False)

    @property
    def mode(self) -> Any:
        return ft.zeros_like(self.scale)

    def _log_prob(self, value: Tensor) -> Any:
        found = self._base._log_prob(value) + math.log(2)
        return ft.where(value >= 0, found, ft.full_like(found, -math.inf))

    def _cdf(self, value: Tensor) -> Any:
        return 2 * self._base._cdf(value) - 1

    def icdf(self, value: Tensor) -> Any:
        return self._base.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self._base.entropy() - math.log(2)


class HalfNormal(_Folded):
    """The distance from zero of a normal value."""

    both = Normal

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        return self.scale**2 * (1 - 2 / math.pi)

    def _draw(self, shape: Size) -> Any:
        return ft.abs(self._base._draw(shape))


class HalfCauchy(_Folded):
    """The distance from zero of a Cauchy value."""

    both = Cauchy

    @property
    def mean(self) -> Any:
        return ft.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Any:
        return ft.full_like(self.scale, math.inf)


class Uniform(_ByUniform):
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

    @property
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


class Exponential(_ByUniform, ExponentialFamily):
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


class Weibull(_ByUniform):
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
        return _EULER * (1 - 1 / k) + ft.log(self.scale / k) + 1


class Pareto(_ByUniform):
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

    @property
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


class Kumaraswamy(_ByUniform):
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
        harmonic = ft.digamma(b + 1) + _EULER
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - ft.log(a) - ft.log(b)


__all__ = [
    "Cauchy", "Exponential", "Gumbel", "HalfCauchy", "HalfNormal", "Kumaraswamy",
    "Laplace", "LogNormal", "Normal", "Pareto", "Uniform", "Weibull",
]  # fmt: skip
