"""Sets of numbers that lie between others, by torch's classes."""

from __future__ import annotations

from typing import Any, ClassVar

from .constraint import Constraint


class Bounded(Constraint):
    """Numbers between two, with the ends or without.

    Attributes:
        lower_bound, upper_bound: the ends; None for none.
        open_low, open_high: whether the ends are not among them.
    """

    open_low: ClassVar[bool] = False
    open_high: ClassVar[bool] = False
    lower_bound: Any = None
    upper_bound: Any = None

    def check(self, value: Any) -> Any:
        fits = value == value  # noqa: PLR0124
        if self.lower_bound is not None:
            low = self.lower_bound
            fits = fits & (value > low if self.open_low else value >= low)
        if self.upper_bound is not None:
            high = self.upper_bound
            fits = fits & (value < high if self.open_high else value <= high)
        return fits & (value % 1 == 0) if self.is_discrete else fits

    def __repr__(self) -> str:
        ends = ", ".join(f"{name}={end}" for name, end in vars(self).items())
        return f"{super().__repr__()}({ends})"


class _From(Bounded):
    """Numbers from one on."""

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _UpTo(Bounded):
    """Numbers up to one."""

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Interval(Bounded):
    """Numbers between two, which belong to it."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _HalfOpenInterval(_Interval):
    """Numbers between two, of which the lower belongs to it."""

    open_high = True


class _IntegerInterval(_Interval):
    """Whole numbers between two, which belong to it."""

    is_discrete = True


class _GreaterThan(_From):
    """Numbers above one."""

    open_low = True


class _GreaterThanEq(_From):
    """Numbers from one on."""


class _IntegerGreaterThan(_From):
    """Whole numbers from one on."""

    is_discrete = True


class _LessThan(_UpTo):
    """Numbers below one."""

    open_high = True


class _IntegerLessThan(_UpTo):
    """Whole numbers up to one."""

    is_discrete = True


interval, half_open_interval = _Interval, _HalfOpenInterval
integer_interval, integers_up_to = _IntegerInterval, _IntegerLessThan
greater_than, greater_than_eq, less_than = _GreaterThan, _GreaterThanEq, _LessThan
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
positive, nonnegative = _GreaterThan(0.0), _GreaterThanEq(0.0)
unit_interval = _Interval(0.0, 1.0)
