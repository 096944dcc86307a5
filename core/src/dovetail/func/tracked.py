"""Values that a transform differentiates by, apart from gradients of its caller's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dovetail.engine.levels import lifted
from dovetail.engine.modes import grad_enabled
from dovetail.engine.open_levels import open_levels
from dovetail.engine.tape import Leaf, target_of
from dovetail.engine.tape_of_views import edge_of
from dovetail.engine.tensor import Tensor, alias
from dovetail.errors import ArgumentTypeError, DTypeError
from dovetail.ops import view as views


class Tracked:
    """One differentiation: its variables, and whether its caller differentiates too.

    Variables are of the highest level, where all that is computed of them is. Those of
    a caller's that require gradients stay on the tape behind ours, so that what we
    compute can be differentiated by them; others become leaves of our own.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.recorded = grad_enabled()
        self.leaves: set[Any] = set()
        self.follows = False

    def variable(self, x: Any, argument: str) -> Tensor:
        """`x` as a variable.

        Raises:
            ArgumentTypeError: it is no tensor.
            DTypeError: it has no gradient.
        """
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                self.name, argument, was=f"a {type(x).__name__}", needed="a Tensor"
            )
        if not x.dtype.is_inexact:
            raise DTypeError(
                self.name, argument, was=x.dtype.name,
                needed="a floating point or complex dtype",
            )  # fmt: skip
        x = lifted(x, len(open_levels()))
        if self.recorded and x.requires_grad:
            self.follows = True
            own: Tensor = views.view(x, tuple(x._a.shape))
            return own
        own = alias(x)
        own.requires_grad = True
        self.leaves.add(edge_of(own._node))
        return own

    def creates(self, outs: Iterable[Tensor]) -> bool:
        """Whether gradients of `outs` have to be recorded for the caller."""
        if open_levels():
            return True
        return self.recorded and (self.follows or self._reaches_others(outs))

    def _reaches_others(self, outs: Iterable[Tensor]) -> bool:
        """Whether results depend on leaves that are not ours."""
        waiting = [target_of(edge_of(y._node)) for y in outs]
        seen = set(waiting)
        for target in waiting:  # it grows meanwhile
            if type(target) is Leaf:
                if target not in self.leaves:
                    return True
                continue
            for edge in () if target is None else target.edges:
                found = target_of(edge)
                if found is not None and found not in seen:
                    seen.add(found)
                    waiting.append(found)
        return False

    def released(self, y: Any) -> Any:
        """A result for the caller, who has not asked for our leaves' gradients."""
        if not isinstance(y, Tensor) or not y.requires_grad:
            return y
        if self.recorded and (self.follows or self._reaches_others([y])):
            return y
        return alias(y)
