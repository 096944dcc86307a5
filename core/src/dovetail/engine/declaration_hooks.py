"""What completes a declaration: hooks of the declared function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, overload

from dovetail.engine import signature as sig
from dovetail.engine.declaration_names import check_rule
from dovetail.engine.op import Op
from dovetail.engine.parameters import parameters_of

F = TypeVar("F", bound=Callable[..., Any])
R_co = TypeVar("R_co", covariant=True)


class Declared(Protocol[R_co]):
    """A function of the vocabulary, and the hooks that complete its declaration.

    It has those for what `op` was not told: nothing is declared twice.
    Its arguments are checked when it is called, since numbers stand for tensors.
    """

    op: Op
    __name__: str
    __wrapped__: Any

    def __call__(self, *args: Any, **kwargs: Any) -> R_co: ...
    @overload
    def vjp(self, rule: F, /) -> F: ...
    @overload
    def vjp(self, **uses: str | tuple[str, ...]) -> Callable[[F], F]: ...
    def grad(
        self, *, backward: bool | dict[str, Any] = False, oracle: Any = None,
        **rules: Any,
    ) -> Any: ...  # fmt: skip
    def oracle(self, function: F) -> F: ...
    def cases(self, function: F) -> F: ...
    def kinks(self, function: F) -> F: ...
    def rule(self, function: F) -> F: ...
    def geometry(self, function: F) -> F: ...
    def check(self, function: F) -> F: ...


def sets(field: str) -> Callable[[Op, F], F]:
    """A hook that keeps the decorated function."""

    def hook(made: Op, function: F) -> F:
        setattr(made, field, function)
        return function

    return hook


def rule_hook(made: Op, function: F) -> F:
    """What the shapes of the results follow from."""
    check_rule(made, "rule", function)
    made.shape = function
    return function


def geometry_hook(made: Op, function: F) -> F:
    """A view's geometry; the shape rule follows from it."""
    check_rule(made, "geometry", function)
    made.geometry = function
    if isinstance(made.shape, sig.Signature):
        made.shape = lambda size, /, **attrs: function(size, None, **attrs)[0]
    return function


def taken_by(rule: Callable[..., Any]) -> list[str]:
    """The names of what a rule takes."""
    known = getattr(rule, "op", None)
    if known is not None:
        return ["ct", *known.names[1:]]
    return [name for name, _, _ in parameters_of(rule)]
