"""Maps from all real numbers onto sets, by the kinds of sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.errors import ArgumentTypeError, NotSupported

from . import constraints
from .constraints import Constraint
from .matrix_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
)
from .shaped_transforms import (
    CatTransform,
    IndependentTransform,
    StackTransform,
    StickBreakingTransform,
)
from .transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    SigmoidTransform,
    SoftmaxTransform,
    Transform,
    identity_transform,
)

_Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Makes a map onto a set, by the set's class.

    Args:
        name: what errors call it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._factories: dict[type, _Factory] = {}

    def register(
        self, constraint: Constraint | type[Constraint], factory: _Factory | None = None
    ) -> Any:
        """Let `factory` make the maps onto sets of a class; or decorate it."""
        if factory is None:
            return lambda function: self.register(constraint, function)
        cls = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(cls, Constraint):
            raise ArgumentTypeError(
                f"{self._name}.register", "constraint", was=repr(constraint),
                needed="a Constraint or a class of them",
            )  # fmt: skip
        self._factories[cls] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """A map from all real numbers onto a set.

        Raises: NotSupported if none is known.
        """
        factory = self._factories.get(type(constraint))
        if factory is None:
            raise NotSupported(
                self._name, "constraint", was=repr(constraint),
                needed="a set of a kind that is registered", remedy="register one",
            )  # fmt: skip
        return factory(constraint)


biject_to: Final = ConstraintRegistry("biject_to")
transform_to: Final = ConstraintRegistry("transform_to")


def _of_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if high is None:
        return ComposeTransform([ExpTransform(), AffineTransform(low, 1)])
    if low is None:
        return ComposeTransform([ExpTransform(), AffineTransform(high, -1)])
    numbers = isinstance(low, int | float) and isinstance(high, int | float)
    if numbers and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


def _registered(registry: ConstraintRegistry) -> None:
    """What both registries have."""

    def independent(c: Any) -> Transform:
        inner = registry(c.base_constraint)
        if inner is identity_transform:
            return inner
        return IndependentTransform(inner, c.reinterpreted_batch_ndims)

    def cat(c: Any) -> Transform:
        return CatTransform([registry(one) for one in c.cseq], c.dim, c.lengths)

    def stack(c: Any) -> Transform:
        return StackTransform([registry(one) for one in c.cseq], c.dim)

    kinds: dict[Any, _Factory] = {
        constraints.real: lambda c: identity_transform,
        constraints.greater_than: _of_interval,
        constraints.greater_than_eq: _of_interval,
        constraints.less_than: _of_interval,
        constraints.interval: _of_interval,
        constraints.half_open_interval: _of_interval,
        constraints.lower_cholesky: lambda c: LowerCholeskyTransform(),
        constraints.positive_definite: lambda c: PositiveDefiniteTransform(),
        constraints.positive_semidefinite: lambda c: PositiveDefiniteTransform(),
        constraints.corr_cholesky: lambda c: CorrCholeskyTransform(),
        constraints.independent: independent,
        constraints.cat: cat,
        constraints.stack: stack,
    }
    for kind, factory in kinds.items():
        registry.register(kind, factory)


_registered(biject_to)
_registered(transform_to)
biject_to.register(constraints.simplex, lambda c: StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: SoftmaxTransform())

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
