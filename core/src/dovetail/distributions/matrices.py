"""Random matrices, and normal vectors whose spread has few directions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import ArgumentError, ShapeError
from dovetail.linalg import cholesky, solve_triangular

from . import constraints
from .constraints import Constraint
from .distribution import Distribution, ExponentialFamily
from .gamma_gradient import standard_gamma
from .multivariate import MultivariateNormal, squared_distance
from .proportions import Beta


class LKJCholesky(Distribution):
    """The Cholesky factor of a matrix of correlations.

    Its density is det(correlations)^(concentration - 1); it is drawn row by row, by
    the onion method (Lewandowski, Kurowicka & Joe 2009).

    Args:
        dim: how many rows.
        concentration: 1 for all matrices alike, more for smaller correlations.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration": constraints.positive
    }
    support = constraints.corr_cholesky
    concentration: Tensor

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if type(dim) is not int or dim < 2:
            raise ArgumentError(
                "LKJCholesky", "dim", was=repr(dim), needed="a number from 2 on"
            )
        self.dim = dim
        self._keep(validate_args, concentration=concentration)

    def _event_of(self, tensors: dict[str, Tensor]) -> Any:
        return (self.dim, self.dim)

    def _draw(self, shape: Size) -> Any:
        n, batch = self.dim, tuple(shape[:-2])
        a = self.concentration
        offset = ft.arange(n - 1, dtype=a.dtype, device=a.device)
        first = 0.5 * (offset + 1)
        second = a.unsqueeze(-1) + 0.5 * (n - 2) - 0.5 * offset
        beta = Beta(first.expand(second.shape), second, validate_args=False)
        squares = beta._draw(Size((*batch, n - 1))).unsqueeze(-1)
        normal = ft.tril(ft.randn((*batch, n, n), dtype=a.dtype, device=a.device), -1)
        rows = normal[..., 1:, :]
        unit = rows / ft.sqrt((rows**2).sum(-1, keepdim=True))
        below = ft.cat([normal[..., :1, :], ft.sqrt(squares) * unit], -2)
        rest = ft.clamp(1 - (below**2).sum(-1), min=0)
        return below + ft.diag_embed(ft.sqrt(rest))

    def _log_prob(self, value: Tensor) -> Any:
        n, a = self.dim, self.concentration
        diagonal = ft.diagonal(value, dim1=-1, dim2=-2)[..., 1:]
        numbers = ft.arange(2, n + 1, dtype=a.dtype, device=a.device)
        order = 2 * (a - 1).unsqueeze(-1) + n - numbers
        return (order * ft.log(diagonal)).sum(-1) - self._log_norm()

    def _log_norm(self) -> Any:
        m = self.dim - 1
        alpha = self.concentration + 0.5 * m
        upper = multigammaln(alpha - 0.5, m)
        return 0.5 * m * math.log(math.pi) + upper - ft.lgamma(alpha) * m

    def __repr__(self) -> str:
        return f"LKJCholesky(dim={self.dim}, concentration={self.concentration})"


def multigammaln(a: Tensor, n: int) -> Any:
    """The logarithm of the gamma function of n by n matrices."""
    halves = 0.5 * ft.arange(n, dtype=a.dtype, device=a.device)
    norm = 0.25 * n * (n - 1) * math.log(math.pi)
    return ft.lgamma(a.unsqueeze(-1) - halves).sum(-1) + norm


class Wishart(ExponentialFamily):
    """The sum of outer products of normal vectors.

    Args:
        df: how many there are; more than their length less one.
        covariance_matrix, precision_matrix, scale_tril: [..., n, n], one of them: of
            the vectors.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    event_dims: ClassVar[dict[str, int]] = {
        "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2,
    }  # fmt: skip
    support = constraints.positive_definite
    has_rsample = True
    df: Tensor

    def __init__(
        self, df: Any, covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        spread = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix, "scale_tril": scale_tril,
        }  # fmt: skip
        given = {name: x for name, x in spread.items() if x is not None}
        if len(given) != 1:
            raise ArgumentError(
                "Wishart", "spread", was=f"given as {sorted(given)}",
                needed=f"one of {list(spread)}",
            )  # fmt: skip
        ((name, matrix),) = given.items()
        if matrix.ndim < 2:
            raise ShapeError(
                "Wishart", name, was=f"{matrix.ndim}-dimensional", needed="2 dims"
            )
        self._keep(validate_args, **given, df=df)
        if not bool((self.df > self._event_shape[0] - 1).all().item()):
            raise ArgumentError(
                "Wishart", "df", was=self.df,
                needed=f"more than {self._event_shape[0] - 1}",
            )  # fmt: skip

    def _event_of(self, tensors: dict[str, Tensor]) -> Any:
        return next(iter(tensors.values())).shape[-2:]

    def _vectors(self) -> MultivariateNormal:
        """One of the vectors."""
        ((name, matrix),) = ((n, getattr(self, n)) for n in self._given() if n != "df")
        loc = ft.zeros_like(matrix[..., 0])
        spread: dict[str, Any] = {name: matrix}
        return MultivariateNormal(loc, validate_args=False, **spread)

    def __getattr__(self, name: str) -> Any:
        known = ("covariance_matrix", "precision_matrix", "scale_tril")
        if name in known and "_names" in self.__dict__:
            return getattr(self._vectors(), name)
        raise AttributeError(f"Wishart has no attribute {name!r}")

    @property
    def mean(self) -> Any:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self._event_shape[0] - 1
        found = factor[..., None, None] * self.covariance_matrix
        return ft.where((factor > 0)[..., None, None], found, math.nan)

    @property
    def variance(self) -> Any:
        v = self.covariance_matrix
        diagonal = ft.diagonal(v, dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (v**2 + outer)

    def _draw(self, shape: Size) -> Any:
        """Bartlett's decomposition: chi values on the diagonal, normal ones below."""
        n, batch = self._event_shape[0], tuple(shape[:-2])
        numbers = ft.arange(n, dtype=self.df.dtype, device=self.df.device)
        halves = ((self.df.unsqueeze(-1) - numbers) / 2).expand((*batch, n))
        chi = ft.sqrt(2 * standard_gamma(halves))
        normal = ft.randn((*batch, n, n), dtype=chi.dtype, device=chi.device)
        factor = self.scale_tril @ (ft.tril(normal, -1) + ft.diag_embed(chi))
        return factor @ factor.mT

    def _half_log_det(self) -> Any:
        return ft.log(ft.diagonal(self.scale_tril, dim1=-2, dim2=-1)).sum(-1)

    def _log_norm(self) -> Any:
        n, df = self._event_shape[0], self.df
        logs = self._half_log_det() + 0.5 * n * math.log(2)
        return df * logs + multigammaln(df / 2, n)

    def _log_prob(self, value: Tensor) -> Any:
        n = self._event_shape[0]
        factor = self.scale_tril
        batch = ft.broadcast_shapes(factor.shape[:-2], value.shape[:-2])
        wide, inner = (x.expand((*batch, n, n)) for x in (factor, value))
        left = solve_triangular(wide, inner, upper=False)
        whole = solve_triangular(wide.mT, left, upper=True)
        trace = ft.diagonal(whole, dim1=-2, dim2=-1).sum(-1)
        diagonal = ft.diagonal(cholesky(value), dim1=-2, dim2=-1)
        log_det = 2 * ft.log(diagonal).sum(-1)
        return (self.df - n - 1) / 2 * log_det - 0.5 * trace - self._log_norm()

    def entropy(self) -> Any:
        n, df = self._event_shape[0], self.df
        halves = 0.5 * ft.arange(n, dtype=df.dtype, device=df.device)
        slopes = ft.digamma(df.unsqueeze(-1) / 2 - halves).sum(-1)
        log_det = slopes + n * math.log(2) + 2 * self._half_log_det()
        return self._log_norm() - 0.5 * (df - n - 1) * log_det + 0.5 * n * df


class LowRankMultivariateNormal(Distribution):
    """A normal vector with covariance cov_factor cov_factor^T + diag(cov_diag).

    Args:
        loc: [..., n], the mean.
        cov_factor: [..., n, k], the few directions.
        cov_diag: [..., n], what each number spreads by itself.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    event_dims: ClassVar[dict[str, int]] = {"loc": 1, "cov_factor": 2, "cov_diag": 1}
    support = constraints.real_vector
    has_rsample = True
    loc: Tensor
    cov_factor: Tensor
    cov_diag: Tensor

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        n = loc.shape[-1] if loc.ndim else 0
        for name, x, at in (("cov_factor", cov_factor, -2), ("cov_diag", cov_diag, -1)):
            if loc.ndim < 1 or x.ndim < -at or x.shape[at] != n:
                raise ShapeError(
                    "LowRankMultivariateNormal", name, was=f"of shape {tuple(x.shape)}",
                    needed=f"one row a number of loc, {tuple(loc.shape)}",
                )  # fmt: skip
        self._keep(validate_args, loc=loc, cov_factor=cov_factor, cov_diag=cov_diag)

    def _event_of(self, tensors: dict[str, Tensor]) -> Any:
        return tensors["loc"].shape[-1:]

    @property
    def mean(self) -> Any:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        return (self.cov_factor**2).sum(-1) + self.cov_diag

    @property
    def covariance_matrix(self) -> Any:
        """The whole of it."""
        directions = self.cov_factor @ self.cov_factor.mT
        return directions + ft.diag_embed(self.cov_diag)

    @property
    def scale_tril(self) -> Any:
        """Its Cholesky factor."""
        return cholesky(self.covariance_matrix)

    @property
    def precision_matrix(self) -> Any:
        """Its inverse (Woodbury's identity)."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        a = solve_triangular(self._capacitance(), scaled, upper=False)
        return ft.diag_embed(1 / self.cov_diag) - a.mT @ a

    def _capacitance(self) -> Any:
        """The Cholesky factor of 1 + W^T D^-1 W."""
        w = self.cov_factor
        inner = w.mT @ (w / self.cov_diag.unsqueeze(-1))
        unit = ft.eye(w.shape[-1], dtype=w.dtype, device=w.device)
        return cholesky(inner + unit)

    def _draw(self, shape: Size) -> Any:
        like: dict[str, Any] = {"dtype": self.loc.dtype, "device": self.loc.device}
        few = ft.randn((*shape[:-1], self.cov_factor.shape[-1]), **like)
        each = ft.randn(tuple(shape), **like)
        spread = (self.cov_factor @ few.unsqueeze(-1)).squeeze(-1)
        return self.loc + spread + ft.sqrt(self.cov_diag) * each

    def _half_log_det(self) -> Any:
        diagonal = ft.diagonal(self._capacitance(), dim1=-2, dim2=-1)
        return ft.log(diagonal).sum(-1) + 0.5 * ft.log(self.cov_diag).sum(-1)

    def _squared_distance(self, x: Tensor) -> Any:
        """Mahalanobis' distance from zero, squared."""
        weighed = x / self.cov_diag
        few = (self.cov_factor.mT @ weighed.unsqueeze(-1)).squeeze(-1)
        return (x * weighed).sum(-1) - squared_distance(self._capacitance(), few)

    def _log_prob(self, value: Tensor) -> Any:
        n = self._event_shape[0]
        distance = self._squared_distance(value - self.loc)
        return -0.5 * (n * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Any:
        n = self._event_shape[0]
        return 0.5 * n * (1 + math.log(2 * math.pi)) + self._half_log_det()


__all__ = ["LKJCholesky", "LowRankMultivariateNormal", "Wishart"]
