"""Quotients of normal values, and of means of their squares."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size

from . import constraints
from .constraints import Constraint
from .distribution import Distribution
from .gamma_gradient import standard_gamma


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


__all__ = ["FisherSnedecor", "StudentT"]
