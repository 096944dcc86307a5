"""Normal vectors, and mixtures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import ArgumentError, ShapeError
from dovetail.linalg import cholesky, solve_triangular

from . import constraints
from .classes import Categorical
from .constraints import Constraint
from .derived import derived
from .distribution import Distribution


class MultivariateNormal(Distribution):
    """A normal vector.

    Args:
        loc: [..., n], the mean.
        covariance_matrix, precision_matrix, scale_tril: [..., n, n], one of them: how
            it spreads, the inverse of that, or the former's Cholesky factor.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    event_dims: ClassVar[dict[str, int]] = {
        "loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True
    loc: Tensor

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        spread = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: x for name, x in spread.items() if x is not None}
        if len(given) != 1:
            raise ArgumentError(
                "MultivariateNormal", "spread", was=f"given as {sorted(given)}",
                needed=f"one of {list(spread)}",
            )  # fmt: skip
        if loc.ndim < 1:
            raise ShapeError(
                "MultivariateNormal", "loc", was="of no dims", needed="one or more"
            )
        self._keep(validate_args, loc=loc, **given)
        ((name, matrix),) = given.items()
        # Subclasses of users' have this as a property of their own.
        self._unbroadcasted_scale_tril: Any = _FACTORS[name](matrix)

    def _event_of(self, tensors: dict[str, Tensor]) -> Any:
        return tensors["loc"].shape[-1:]

    def _whole(self, matrix: Any) -> Any:
        """A matrix for each place of the batch."""
        return matrix.expand((*self._batch_shape, *self._event_shape * 2))

    @derived
    def scale_tril(self) -> Any:
        """The Cholesky factor of how it spreads."""
        return self._whole(self._unbroadcasted_scale_tril)

    @derived
    def covariance_matrix(self) -> Any:
        """How it spreads."""
        factor = self._unbroadcasted_scale_tril
        return self._whole(factor @ factor.mT)

    @derived
    def precision_matrix(self) -> Any:
        """The inverse of that."""
        return self._whole(_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Any:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        squares = self._unbroadcasted_scale_tril**2
        return squares.sum(-1).expand((*self._batch_shape, *self._event_shape))

    def _draw(self, shape: Size) -> Any:
        noise = ft.randn(tuple(shape), dtype=self.loc.dtype, device=self.loc.device)
        spread = self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)
        return self.loc + spread.squeeze(-1)

    def _log_prob(self, value: Tensor) -> Any:
        distance = squared_distance(self._unbroadcasted_scale_tril, value - self.loc)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + distance) - self._half_log_det()

    def _half_log_det(self) -> Any:
        diagonal = ft.diagonal(self._unbroadcasted_scale_tril, dim1=-2, dim2=-1)
        return ft.log(diagonal).sum(-1).expand(self._batch_shape)

    def entropy(self) -> Any:
        n = self._event_shape[0]
        return 0.5 * n * (1 + math.log(2 * math.pi)) + self._half_log_det()


def squared_distance(factor: Tensor, difference: Tensor) -> Any:
    """Mahalanobis' distance from zero, squared, by the Cholesky factor."""
    batch = ft.broadcast_shapes(factor.shape[:-2], difference.shape[:-1])
    n = factor.shape[-1]
    column = difference.expand((*batch, n)).unsqueeze(-1)
    solved = solve_triangular(factor.expand((*batch, n, n)), column, upper=False)
    return (solved.squeeze(-1) ** 2).sum(-1)


def _inverse(factor: Tensor) -> Any:
    """The inverse of the matrix that a Cholesky factor is of."""
    unit = ft.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    solved = solve_triangular(factor, unit.expand(factor.shape), upper=False)
    return solved.mT @ solved


def _factor_of_inverse(matrix: Tensor) -> Any:
    """The Cholesky factor of a matrix's inverse."""
    reversed_ = cholesky(ft.flip(matrix, (-2, -1)))
    upper = ft.flip(reversed_, (-2, -1)).mT
    unit = ft.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return solve_triangular(upper, unit.expand(upper.shape), upper=False)


_FACTORS: Final[dict[str, Callable[[Tensor], Any]]] = {
    "covariance_matrix": cholesky, "precision_matrix": _factor_of_inverse,
    "scale_tril": lambda factor: factor,
}  # fmt: skip


class MixtureSameFamily(Distribution):
    """One of several distributions of a kind, drawn by chance.

    Args:
        mixture_distribution: which of them.
        component_distribution: they, along the last dim of its batch.
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        count = mixture_distribution.probs.shape[-1]
        batch = component_distribution.batch_shape
        if not batch or batch[-1] != count:
            raise ShapeError(
                "MixtureSameFamily", "component_distribution's batch",
                was=tuple(batch), needed=f"{count} at its end, one a component",
            )  # fmt: skip
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return self.component_distribution.support

    def _weights(self) -> Any:
        probs = self.mixture_distribution.probs
        return probs.view(*probs.shape, *(1 for _ in self._event_shape))

    @property
    def _dim(self) -> int:
        return -1 - len(self._event_shape)

    @property
    def mean(self) -> Any:
        return (self._weights() * self.component_distribution.mean).sum(self._dim)

    @property
    def variance(self) -> Any:
        weights, each = self._weights(), self.component_distribution
        within = (weights * each.variance).sum(self._dim)
        apart = (each.mean - self.mean.unsqueeze(self._dim)) ** 2
        return within + (weights * apart).sum(self._dim)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        each = self.component_distribution
        new = self._unexpanded(_instance)
        new._batch_shape = Size(batch_shape)
        new.component_distribution = each.expand((*batch_shape, each.batch_shape[-1]))
        new.mixture_distribution = self.mixture_distribution.expand(batch_shape)
        return new

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        batch = shape[: len(shape) - len(self._event_shape)]
        mixture = self.mixture_distribution.expand(self._batch_shape)
        drawn = self.component_distribution.sample(sample_shape)
        at = mixture.sample(sample_shape).view(
            *batch, 1, *(1 for _ in self._event_shape)
        )
        at = at.expand((*batch, 1, *self._event_shape))
        return drawn.gather(self._dim, at).squeeze(self._dim)

    def _log_prob(self, value: Tensor) -> Any:
        events = len(self._event_shape)
        each = self.component_distribution.log_prob(value.unsqueeze(-1 - events))
        return ft.logsumexp(each + self.mixture_distribution.logits, -1)

    def _cdf(self, value: Tensor) -> Any:
        each = self.component_distribution.cdf(value.unsqueeze(-1))
        return (each * self.mixture_distribution.probs).sum(-1)


__all__ = ["MixtureSameFamily", "MultivariateNormal"]
