"""Distributions whose values went through maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from . import constraints
from .distribution import Distribution, summed
from .independent import Independent
from .transforms import ComposeTransform, Transform


class TransformedDistribution(Distribution):
    """A distribution whose values went through maps.

    Args:
        base_distribution: the distribution.
        transforms: a map, or several.
    """

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        parts = [transforms] if isinstance(transforms, Transform) else list(transforms)
        for i, part in enumerate(parts):
            if not isinstance(part, Transform):
                raise ArgumentError(
                    "TransformedDistribution", f"transforms[{i}]",
                    was=type(part).__name__, needed="a Transform",
                )  # fmt: skip
        whole, base = ComposeTransform(parts), base_distribution
        shape = whole.forward_shape((*base.batch_shape, *base.event_shape))
        outer = len(base.event_shape) - whole.domain.event_dim
        cut = len(shape) - whole.codomain.event_dim - max(outer, 0)
        wide = whole.inverse_shape(shape)
        batch = tuple(wide[: len(wide) - len(base.event_shape)])
        if batch != tuple(base.batch_shape):
            base = base.expand(batch)
        self.base_dist = base if outer >= 0 else Independent(base, -outer)
        self.transforms = parts
        super().__init__(shape[:cut], shape[cut:], validate_args)

    @property
    def _whole(self) -> ComposeTransform:
        """All the maps as one; derived classes may have set `transforms` alone."""
        return ComposeTransform(self.transforms)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether the base's samples have gradients."""
        return self.base_dist.has_rsample

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        missing = len(self._event_shape) - found.event_dim
        return constraints.independent(found, missing) if missing > 0 else found

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        base = self._whole.inverse_shape((*batch_shape, *self._event_shape))
        wider = base[: len(base) - len(self.base_dist.event_shape)]
        new = self._unexpanded(_instance)
        TransformedDistribution.__init__(
            new, self.base_dist.expand(wider), self.transforms, self._validate_args
        )
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return self._whole(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self._whole(self.base_dist.rsample(sample_shape))

    def _log_prob(self, value: Tensor) -> Any:
        events, x, total = len(self._event_shape), value, 0.0
        for part in reversed(self.transforms):
            y, x = x, part._inv_call(x)
            events += part.domain.event_dim - part.codomain.event_dim
            slope = part.log_abs_det_jacobian(x, y)
            total = total - summed(slope, events - part.domain.event_dim)
        inner = self.base_dist.log_prob(x)
        return total + summed(inner, events - len(self.base_dist.event_shape))

    def _turned(self, value: Any) -> Any:
        """A probability, counted from the other end where the maps fall."""
        sign = self._whole.sign
        return sign * (value - 0.5) + 0.5

    def _cdf(self, value: Tensor) -> Any:
        return self._turned(self.base_dist.cdf(self._whole._inv_call(value)))

    def icdf(self, value: Tensor) -> Any:
        return self._whole(self.base_dist.icdf(self._turned(value)))
