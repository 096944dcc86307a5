"""Gamma values, and what is made of them."""

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


class InverseGamma(Distribution):
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

    def entropy(self) -> Any:
        a = self.concentration
        return a + ft.log(self.rate) + ft.lgamma(a) - (1 + a) * ft.digamma(a)


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


class StudentT(Distribution):
    """A normal value over the root of a mean of squares of others.

    Args:
        df: how many others.
        loc, scale: what it is moved and stretched by.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "df": constraints.positive, "loc": constraints.real,
        "scale": constraints.positive,
    }  # fmt: skip
    support = constraints.real
    has_rsample = True
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._keep(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mean(self) -> Any:
        return ft.where(self.df > 1, self.loc, ft.full_like(self.loc, math.nan))

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        df, scale = self.df, self.scale
        infinite = ft.full_like(df, math.inf)
        found = ft.where(df > 2, scale**2 * df / (df - 2), infinite)
        return ft.where(df > 1, found, ft.full_like(df, math.nan))

    def _draw(self, shape: Size) -> Any:
        normal = ft.randn(tuple(shape), dtype=self.df.dtype, device=self.df.device)
        squares = 2 * standard_gamma((self.df / 2).expand(shape))
        return self.loc + self.scale * normal * ft.rsqrt(squares / self.df)

    def _log_prob(self, value: Tensor) -> Any:
        y, df = (value - self.loc) / self.scale, self.df
        return -0.5 * (df + 1) * ft.log1p(y**2 / df) - self._log_norm()

    def _log_norm(self) -> Any:
        df = self.df
        halves = ft.lgamma(0.5 * df) - ft.lgamma(0.5 * (df + 1))
        return ft.log(self.scale) + 0.5 * ft.log(df) + 0.5 * math.log(math.pi) + halves

    def entropy(self) -> Any:
        df = self.df
        slope = ft.digamma(0.5 * (df + 1)) - ft.digamma(0.5 * df)
        return self._log_norm() + 0.5 * (df + 1) * slope


class FisherSnedecor(Distribution):
    """The quotient of two means of squares of normal values.

    Args:
        df1, df2: how many are in each.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "df1": constraints.positive, "df2": constraints.positive,
    }  # fmt: skip
    support = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self._keep(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Any:
        d = self.df2
        return ft.where(d > 2, d / (d - 2), ft.full_like(d, math.nan))

    @property
    def mode(self) -> Any:
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return ft.where(self.df1 > 2, found, ft.full_like(found, math.nan))

    @property
    def variance(self) -> Any:
        a, d = self.df1, self.df2
        found = 2 * d**2 * (a + d - 2) / (a * (d - 2) ** 2 * (d - 4))
        return ft.where(d > 4, found, ft.full_like(d, math.nan))

    def _draw(self, shape: Size) -> Any:
        upper = standard_gamma((self.df1 / 2).expand(shape)) / self.df1
        return upper / (standard_gamma((self.df2 / 2).expand(shape)) / self.df2)

    def _log_prob(self, value: Tensor) -> Any:
        a, d = self.df1 / 2, self.df2 / 2
        ratio = self.df1 / self.df2
        norm = ft.lgamma(a + d) - ft.lgamma(a) - ft.lgamma(d)
        shape = a * ft.log(ratio) + (a - 1) * ft.log(value)
        return norm + shape - (a + d) * ft.log1p(ratio * value)


__all__ = [
    "Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT",
]  # fmt: skip
