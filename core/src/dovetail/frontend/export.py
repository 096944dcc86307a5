"""How a function becomes torch's: a top-level name, a method, `x_` and `out=`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from dovetail.engine.public import NAMESPACES, guarded, in_place_form
from dovetail.engine.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

# Torch's top-level names; `dovetail.frontend` and `dovetail` offer them all.
NAMES: Final[dict[str, Any]] = NAMESPACES["torch"]


def torch_name(
    *names: str, method: bool = True, top: bool = True, writes: bool = False,
    out: bool = True,
) -> Callable[[F], F]:  # fmt: skip
    """Offer the decorated function under torch's names (default: its own).

    Args:
        names: all names, aliases included.
        method: also as methods of Tensor, `self` being the first argument.
        top: also as functions of the package.
        writes: also in place, as `name_`.
        out: the top-level function takes `out=`.
    """

    def offer(function: F) -> F:
        if names and "<locals>" in function.__qualname__:  # Python's errors show it
            function.__name__ = function.__qualname__ = names[0]
        for name in names or (function.__name__,):
            if top:
                is_class = isinstance(function, type)
                NAMES[name] = function if is_class else guarded(function, name, out)
            if method:
                setattr(Tensor, name, guarded(function, name, False))
            if writes:
                offer_inplace(name, function)
        return function

    return offer


def export(
    functions: Iterable[Any], *, writes: bool = False, method: bool = True,
) -> None:  # fmt: skip
    """Offer ops of the vocabulary whose signature is torch's own."""
    for function in functions:
        names = (function.op.name, *filter(None, (function.op.alias or "").split()))
        torch_name(*names, method=method, writes=writes)(function)


def offer_inplace(name: str, function: Callable[..., Any]) -> None:
    """`x.name_(…)`: the functional form written into `x`."""
    in_place = in_place_form(f"{name}_", function)
    setattr(Tensor, f"{name}_", in_place)
    NAMES.setdefault(f"{name}_", in_place)
