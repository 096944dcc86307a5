"""Sets of values: what parameters may be, and what distributions are over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.limits import finfo
from dovetail.linalg import cholesky_ex, eigvalsh


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


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value  # noqa: PLR0124  NaN is not


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Interval(Constraint):
    """Numbers between two, with the ends or without."""

    def __init__(
        self, low: Any = None, high: Any = None, *, open_low: bool = False,
        open_high: bool = False, whole: bool = False,
    ) -> None:  # fmt: skip
        self.lower_bound, self.upper_bound = low, high
        self.open_low, self.open_high, self.whole = open_low, open_high, whole

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether it is of whole numbers."""
        return self.whole

    def check(self, value: Any) -> Any:
        fits = value == value  # noqa: PLR0124
        if self.lower_bound is not None:
            low = self.lower_bound
            fits = fits & (value > low if self.open_low else value >= low)
        if self.upper_bound is not None:
            high = self.upper_bound
            fits = fits & (value < high if self.open_high else value <= high)
        return fits & (value % 1 == 0) if self.whole else fits

    def __repr__(self) -> str:
        kind = "whole numbers" if self.whole else "numbers"
        low = "" if self.lower_bound is None else f" from {self.lower_bound}"
        high = "" if self.upper_bound is None else f" to {self.upper_bound}"
        return f"{kind}{low}{high}"


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


class _OfParts(Constraint):
    """Values whose parts along a dim are of several sets."""

    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether one of them is."""
        return any(c.is_discrete for c in self.cseq)


class cat(_OfParts):  # noqa: N801  torch's name
    """Values whose pieces along a dim are of several sets.

    Args:
        cseq: the sets.
        dim: the dim.
        lengths: of the pieces; by default, each of 1.
    """

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0,
        lengths: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The most that one of the sets has."""
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Any) -> Any:
        pairs = zip(self.cseq, value.split(self.lengths, self.dim), strict=True)
        return ft.cat([c.check(piece) for c, piece in pairs], self.dim)


class stack(_OfParts):  # noqa: N801  torch's name
    """Values whose slices along a dim are of several sets, one a slice.

    Args:
        cseq: the sets.
        dim: the dim.
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The most that one of the sets has, and one more if the dim is among them."""
        most = max(c.event_dim for c in self.cseq)
        return most + 1 if self.dim + most < 0 else most

    def check(self, value: Any) -> Any:
        pairs = zip(self.cseq, value.unbind(self.dim), strict=True)
        return ft.stack([c.check(part) for c, part in pairs], self.dim)


class _Dependent(Constraint):
    """A set that depends on what else was given."""

    def __call__(self, *, is_discrete: bool = False, event_dim: int = 0) -> _Dependent:
        """The same, of which more is known."""
        new = _Dependent()
        vars(new).update(is_discrete=is_discrete, event_dim=event_dim)
        return new

    def check(self, value: Any) -> Any:
        raise ValueError("a dependent constraint checks nothing by itself")


class dependent_property(property, _Dependent):  # noqa: N801  torch's name
    """A property that gives a set, which depends on an object's parameters.

    Args:
        fn: the property's function; without it, what decorates one.
    """

    def __init__(
        self, fn: Any = None, *, is_discrete: bool = False, event_dim: int = 0
    ) -> None:
        super().__init__(fn)
        self._discrete, self._events = is_discrete, event_dim

    def __call__(self, fn: Any) -> dependent_property:  # type: ignore[override]
        """The property of a function."""
        return dependent_property(
            fn, is_discrete=self._discrete, event_dim=self._events
        )


def is_dependent(constraint: object) -> bool:
    """Whether a set depends on what else was given."""
    return isinstance(constraint, _Dependent)


class independent(Constraint):  # noqa: N801  torch's name
    """Values of another set, of which several dims make one.

    Args:
        base_constraint: the other set.
        reinterpreted_batch_ndims: how many more dims.
    """

    def __init__(
        self, base_constraint: Constraint, reinterpreted_batch_ndims: int
    ) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether the other set is."""
        return self.base_constraint.is_discrete

    def check(self, value: Any) -> Any:
        fits: Tensor = self.base_constraint.check(value)
        for _ in range(self.reinterpreted_batch_ndims):
            fits = fits.all(-1)
        return fits

    def __repr__(self) -> str:
        return f"independent({self.base_constraint}, {self.reinterpreted_batch_ndims})"


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers between two, which belong to it."""
    return _Interval(lower_bound, upper_bound)


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers between two, of which the lower belongs to it."""
    return _Interval(lower_bound, upper_bound, open_high=True)


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Whole numbers between two, which belong to it."""
    return _Interval(lower_bound, upper_bound, whole=True)


def greater_than(lower_bound: Any) -> Constraint:
    """Numbers above one."""
    return _Interval(lower_bound, open_low=True)


def greater_than_eq(lower_bound: Any) -> Constraint:
    """Numbers from one on."""
    return _Interval(lower_bound)


def less_than(upper_bound: Any) -> Constraint:
    """Numbers below one."""
    return _Interval(None, upper_bound, open_high=True)


def multinomial(upper_bound: Any) -> Constraint:
    """Counts that sum to a number at most."""
    return _Multinomial(upper_bound)


dependent = _Dependent()
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _Interval(0, whole=True)
positive_integer = _Interval(1, whole=True)
real = _Real()
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
simplex = _Simplex()
lower_cholesky = _LowerCholesky()
lower_triangular = _LowerTriangular()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent",
    "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot",
    "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip
