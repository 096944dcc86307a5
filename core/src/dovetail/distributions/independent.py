"""Distributions of values that are made of several independent ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from . import constraints
from .distribution import Distribution, summed


class Independent(Distribution):
    """Another distribution, of whose batch the last dims make one value.

    Args:
        base_distribution: the other one.
        reinterpreted_batch_ndims: how many dims.
    """

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if not 0 <= reinterpreted_batch_ndims <= len(batch):
            raise ArgumentError(
                "Independent", "reinterpreted_batch_ndims",
                was=reinterpreted_batch_ndims, needed=f"0 to {len(batch)}",
            )  # fmt: skip
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        cut = len(batch) - reinterpreted_batch_ndims
        event = (*batch[cut:], *base_distribution.event_shape)
        super().__init__(batch[:cut], event, validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether the other's samples have gradients."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """Whether the other lists its values, and each is one here, too."""
        return (
            not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support
        )

    @constraints.dependent_property
    def support(self) -> Any:
        """The other's, of more dims."""
        inner = self.base_dist.support
        dims = self.reinterpreted_batch_ndims
        return constraints.independent(inner, dims) if dims else inner

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        extra = self._event_shape[: self.reinterpreted_batch_ndims]
        wider = self.base_dist.expand((*batch_shape, *extra))
        new = self._unexpanded(_instance)
        Independent.__init__(
            new, wider, self.reinterpreted_batch_ndims, self._validate_args
        )
        return new

    @property
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Any:
        return summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims:
            return self._absent("enumerate_support")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
