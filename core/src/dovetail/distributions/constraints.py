"""Sets of values: what parameters may be, and what distributions are over."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.limits import finfo
from dovetail.linalg import cholesky_ex, eigvalsh

from .composed_constraints import (
    MixtureSameFamilyConstraint,
    _Dependent,
    cat,
    dependent_property,
    independent,
    is_dependent,
    stack,
)
from .constraint import Constraint
from .intervals import (
    greater_than,
    greater_than_eq,
    half_open_interval,
    integer_interval,
    integers_up_to,
    interval,
    less_than,
    nonnegative,
    nonnegative_integer,
    positive,
    positive_integer,
    unit_interval,
)


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value  # noqa: PLR0124  NaN is not


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ft.all(value >= 0, dim=-1) & (ft.abs(value.sum(-1) - 1) < 1e-6)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        boolean_ = (value == 0) | (value == 1)
        return boolean_.all(-1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        lower = (ft.tril(value) == value).flatten(-2).all(-1)
        return lower & (ft.diagonal(value, dim1=-2, dim2=-1) > 0).all(-1)


class _PositiveDefinite(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        symmetric = ft.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)
        return symmetric & (cholesky_ex(value).info == 0)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        fits = value.shape[-1] == value.shape[-2]
        return ft.full(tuple(value.shape[:-2]), fits, device=value.device)


class _Symmetric(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return ft.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)


class _PositiveSemidefinite(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        lowest = eigvalsh(value).amin(-1)
        return symmetric.check(value) & (lowest >= -1e-6)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return (ft.tril(value) == value).flatten(-2).all(-1)


class _CorrCholesky(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        near = finfo(value.dtype).eps * value.shape[-1] * 10
        lengths = ft.sqrt((value**2).sum(-1))
        return (ft.abs(lengths - 1) < near).all(-1) & lower_cholesky.check(value)


def multinomial(upper_bound: Any) -> Constraint:
    """Counts that sum to a number at most."""
    return _Multinomial(upper_bound)


# Programs name torch's classes of these, too.
_Interval, _HalfOpenInterval = interval, half_open_interval
_GreaterThan, _GreaterThanEq, _LessThan = greater_than, greater_than_eq, less_than
_IntegerInterval, _IntegerLessThan = integer_interval, integers_up_to
_IntegerGreaterThan = type(positive_integer)

dependent = _Dependent()
boolean = _Boolean()
one_hot = _OneHot()
real = _Real()
real_vector = independent(real, 1)
simplex = _Simplex()
lower_cholesky = _LowerCholesky()
lower_triangular = _LowerTriangular()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky",
    "dependent", "dependent_property", "greater_than", "greater_than_eq",
    "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular",
    "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real",
    "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip
