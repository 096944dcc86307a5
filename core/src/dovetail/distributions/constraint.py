"""What every set of values has."""

from __future__ import annotations

from typing import Any, ClassVar


class Constraint:
    """A set of values.

    Attributes:
        is_discrete: whether it is countable.
        event_dim: how many dims at the end make one value.
    """

    is_discrete: ClassVar[bool] = False
    event_dim: int = 0

    def check(self, value: Any) -> Any:
        """For each value, whether it is in the set; NaN never is."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__.lstrip("_")
