"""Sets of values that are made of other sets, or depend on what was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import NotSupported, ShapeError

from .constraint import Constraint

_T = TypeVar("_T")


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
    """A set that depends on what else was given; None where that decides, too."""

    _is_discrete: bool | None = None
    _event_dim: int | None = None

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether it is countable, if that is known of the class."""
        return self._known("is_discrete", self._is_discrete)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """How many dims make one value, if that is known of the class."""
        return self._known("event_dim", self._event_dim)

    def _known(self, name: str, value: _T | None) -> _T:
        if value is None:
            raise NotSupported(
                type(self).__name__, name, was="not known of the class",
                needed="an object, or a set that was declared with it",
            )  # fmt: skip
        return value

    def __call__(
        self, *, is_discrete: bool | None = None, event_dim: int | None = None
    ) -> _Dependent:
        """The same, of which more is known."""
        new = _Dependent()
        new._is_discrete = self._is_discrete if is_discrete is None else is_discrete
        new._event_dim = self._event_dim if event_dim is None else event_dim
        return new

    def check(self, value: Any) -> Any:
        raise ValueError("a dependent constraint checks nothing by itself")


class dependent_property(property, _Dependent):  # noqa: N801  torch's name
    """A property that gives a set, which depends on an object's parameters.

    Args:
        fn: the property's function; without it, what decorates one.
    """

    def __init__(
        self,
        fn: Any = None,
        *,
        is_discrete: bool | None = None,
        event_dim: int | None = None,
    ) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Any) -> dependent_property:  # type: ignore[override]
        """The property of a function."""
        return dependent_property(
            fn, is_discrete=self._is_discrete, event_dim=self._event_dim
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

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The other's, and these."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

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


class MixtureSameFamilyConstraint(Constraint):
    """Values that are of another set for every component of a mixture.

    Args:
        base_constraint: the components' set.
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint
        self.event_dim = base_constraint.event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether the other set is."""
        return self.base_constraint.is_discrete

    def check(self, value: Any) -> Any:
        """For each value, whether it is in the set of every component.

        Raises: ShapeError for less dims than one value has.
        """
        if value.ndim < self.event_dim:
            raise ShapeError(
                "MixtureSameFamilyConstraint.check", "value",
                was=f"of {value.ndim} dims", needed=f"{self.event_dim} or more",
            )  # fmt: skip
        fits = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        kept = tuple(fits.shape[: value.ndim - self.event_dim])
        return fits.reshape((*kept, -1)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint})"
