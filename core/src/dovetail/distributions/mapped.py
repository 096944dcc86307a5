"""Distributions that are another one mapped, with formulas of their own."""

from __future__ import annotations

from typing import Any

from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import Transform


class Mapped(TransformedDistribution):
    """A distribution whose parameters say what is mapped, and how.

    Beside a class with formulas, which come first: `class X(Formulas, Mapped)`.
    """

    def _map(self) -> tuple[Distribution, list[Transform]]:
        raise NotImplementedError

    @property
    def base_dist(self) -> Any:  # type: ignore[override]
        """What is mapped, by the parameters as they are."""
        return self._map()[0]

    @property
    def transforms(self) -> Any:  # type: ignore[override]
        """The maps, the first one first."""
        return self._map()[1]

    expand = Distribution.expand
    sample = Distribution.sample
    rsample = Distribution.rsample
