"""Distributions that are another one moved and stretched, and folded at zero."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.limits import finfo
from dovetail.special import ndtr, ndtri

from . import constraints
from .constraints import Constraint
from .distribution import Distribution, ExponentialFamily
from .mapped import Mapped
from .powers import Uniform
from .quantiles import EULER, ByQuantile
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform, AffineTransform, ExpTransform, Transform

_LOG_ROOT_TAU: Final = 0.5 * math.log(2 * math.pi)


class _LocScale(ByQuantile):
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


class Gumbel(_LocScale, Mapped):
    """The limit of the largest of many values."""

    def _map(self) -> tuple[Distribution, list[Transform]]:
        info = finfo(self.loc.dtype)
        low = ft.full_like(self.loc, info.tiny)
        base = Uniform(low, ft.full_like(self.loc, 1 - info.eps), validate_args=False)
        one = ft.ones_like(self.scale)
        return base, [
            ExpTransform().inv, AffineTransform(0, -one), ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]  # fmt: skip

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * EULER

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
        return ft.log(self.scale) + (1 + EULER)


class LogNormal(TransformedDistribution):
    """The exponential of a normal distribution."""

    arg_constraints = Normal.arg_constraints
    support: Any = constraints.positive
    base_dist: Normal

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

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

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc


class _Folded(ByQuantile, Mapped):
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

    def _map(self) -> tuple[Distribution, list[Transform]]:
        return self._base, [AbsTransform()]

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


__all__ = [
    "Cauchy",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Laplace",
    "LogNormal",
    "Normal",
]
