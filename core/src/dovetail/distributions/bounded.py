"""Numbers within bounds: of a continuous coin, of angles, and beyond a threshold."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.frontend.random_counts import accepted, uniform
from dovetail.special import i0e, i1e

from . import constraints
from .constraints import Constraint
from .counts import ByChance
from .distribution import Distribution, ExponentialFamily
from .probabilities import check_one_given, inside, weighted
from .quantiles import ByQuantile


class ContinuousBernoulli(ByChance, ExponentialFamily):
    """A number in 0 ... 1 with density proportional to p^x (1 - p)^(1 - x).

    Loaiza-Ganem & Cunningham 2019, arXiv:1907.06845.

    Args:
        probs: p; or give `logits`, the logarithm of its odds.
        lims: between which p counts as 1/2, where formulas are expanded.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, probs: Any = None, logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        check_one_given("ContinuousBernoulli", probs, logits)
        self._lims = lims
        self._keep(validate_args, probs=probs, logits=logits)

    def _halves(self) -> tuple[Any, Any, Any]:
        """Whether p is near 1/2, p where it is not, and p - 1/2 where it is."""
        p = inside(self.probs)
        near = (p >= self._lims[0]) & (p <= self._lims[1])
        return near, ft.where(near, 0.25, p), ft.where(near, p - 0.5, 0.0)

    def _log_norm(self) -> Any:
        near, p, x = self._halves()
        slope = ft.abs(ft.log1p(-p) - ft.log(p))
        far = ft.log(slope / ft.abs(1 - 2 * p))
        square = x**2
        return ft.where(near, math.log(2) + (4 / 3 + 104 / 45 * square) * square, far)

    @property
    def mean(self) -> Any:
        near, p, x = self._halves()
        far = p / (2 * p - 1) + 1 / (ft.log1p(-p) - ft.log(p))
        return ft.where(near, 0.5 + (1 / 3 + 16 / 45 * x**2) * x, far)

    @property
    def variance(self) -> Any:
        near, p, x = self._halves()
        slope = ft.log1p(-p) - ft.log(p)
        far = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / slope**2
        square = x**2
        return ft.where(near, 1 / 12 - (1 / 15 - 128 / 945 * square) * square, far)

    def _draw(self, shape: Size) -> Any:
        probs = self.probs
        return self.icdf(ft.rand(tuple(shape), dtype=probs.dtype, device=probs.device))

    def _log_prob(self, value: Tensor) -> Any:
        success, failure = self._log_chances()
        both = weighted(value, success) + weighted(1 - value, failure)
        return both + self._log_norm()

    def _cdf(self, value: Tensor) -> Any:
        near, p, _ = self._halves()
        grown = ft.pow(p, value) * ft.pow(1 - p, 1 - value)
        found = ft.where(near, value, (grown + p - 1) / (2 * p - 1))
        return ft.clamp(found, 0, 1)

    def icdf(self, value: Tensor) -> Any:
        near, p, _ = self._halves()
        rest = ft.log1p(-p + value * (2 * p - 1)) - ft.log1p(-p)
        return ft.where(near, value, rest / (ft.log(p) - ft.log1p(-p)))

    def entropy(self) -> Any:
        success, failure = self._log_chances()
        return self.mean * (failure - success) - self._log_norm() - failure


class GeneralizedPareto(ByQuantile):
    """What values exceed a threshold by, where that is high.

    Args:
        loc: the threshold.
        scale: how they spread.
        concentration: how heavy the tail is; below zero, values have a bound.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real, "scale": constraints.positive,
        "concentration": constraints.real,
    }  # fmt: skip
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self, loc: Any, scale: Any, concentration: Any,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._keep(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        k = self.concentration
        highest = self.loc - self.scale / ft.where(k < 0, k, -1.0)
        return constraints.interval(self.loc, ft.where(k < 0, highest, math.inf))

    def _tail(self) -> tuple[Any, Any]:
        """Whether the tail is an exponential one, and else its concentration."""
        k = self.concentration
        flat = ft.isclose(k, ft.zeros_like(k))
        return flat, ft.where(flat, 1.0, k)

    @property
    def mean(self) -> Any:
        k = self.concentration
        found = self.loc + self.scale / (1 - ft.where(k < 1, k, 0.0))
        return ft.where(k < 1, found, math.nan)

    @property
    def variance(self) -> Any:
        k = self.concentration
        safe = ft.where(k < 0.5, k, 0.25)
        found = self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe))
        return ft.where(k < 0.5, found, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    def _log_survival(self, value: Tensor) -> Any:
        flat, k = self._tail()
        z = (value - self.loc) / self.scale
        return ft.where(flat, -z, -ft.log1p(k * z) / k)

    def _log_prob(self, value: Tensor) -> Any:
        flat, k = self._tail()
        slope = ft.where(flat, 1.0, 1 + k)
        return slope * self._log_survival(value) - ft.log(self.scale)

    def log_survival_function(self, value: Tensor) -> Any:
        """The logarithm of the probability of values above this one."""
        self._validate_sample(value)
        return self._log_survival(value)

    def _cdf(self, value: Tensor) -> Any:
        return -ft.expm1(self._log_survival(value))

    def log_cdf(self, value: Tensor) -> Any:
        """The logarithm of the probability of values up to this one."""
        return ft.log(self.cdf(value))

    def icdf(self, value: Tensor) -> Any:
        flat, k = self._tail()
        log = ft.log1p(-value)
        return self.loc + self.scale * ft.where(flat, -log, ft.expm1(-k * log) / k)

    def entropy(self) -> Any:
        return ft.log(self.scale) + self.concentration + 1


# Below it, Best & Fisher's proposals lose their digits to cancellation.
_FLAT: Final = 1e-4


class VonMises(Distribution):
    """An angle from -pi to pi.

    Args:
        loc: the likeliest angle.
        concentration: how near to it others are.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real, "concentration": constraints.positive,
    }  # fmt: skip
    support = constraints.real
    loc: Tensor
    concentration: Tensor

    def __init__(
        self, loc: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self._keep(validate_args, loc=loc, concentration=concentration)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        """1 - E cos(angle - loc): the circular one."""
        k = self.concentration
        return 1 - i1e(k) / i0e(k)

    def _log_prob(self, value: Tensor) -> Any:
        k = self.concentration
        near = k * (ft.cos(value - self.loc) - 1)
        return near - math.log(2 * math.pi) - ft.log(i0e(k))

    @no_grad()
    def _draw(self, shape: Size) -> Any:
        """Best & Fisher 1979, Efficient simulation of the von Mises distribution."""
        k = self.concentration.double().expand(tuple(shape))
        tau = 1 + ft.sqrt(1 + 4 * k**2)
        rho = (tau - ft.sqrt(2 * tau)) / (2 * k)
        r = ft.where(k < _FLAT, 1 / k + k, (1 + rho**2) / (2 * rho))

        def propose() -> tuple[Any, Any]:
            z = ft.cos(math.pi * uniform(r))
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            u = uniform(r)
            return f, (c * (2 - c) > u) | (ft.log(c / u) + 1 - c >= 0)

        f = ft.clamp(accepted(r, propose), -1, 1)
        angle = ft.sign(uniform(r) - 0.5) * ft.acos(f)
        turned = (angle + math.pi + self.loc) % (2 * math.pi) - math.pi
        return turned.to(self.loc.dtype)


__all__ = ["ContinuousBernoulli", "GeneralizedPareto", "VonMises"]
