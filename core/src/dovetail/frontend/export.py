"""How a function becomes torch's: a top-level name, a method, `x_` and `out=`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from dovetail.engine.inplace import inplace
from dovetail.engine.public import NAMESPACES, write_out
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError

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
                NAMES[name] = _with_out(name, function) if out else function
            if method:
                setattr(Tensor, name, function)
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
    in_place_name = f"{name}_"

    def in_place(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return inplace(in_place_name, function, self, *args, **kwargs)

    in_place.__name__ = in_place.__qualname__ = in_place_name
    in_place.__doc__ = f"`{name}` written into this tensor; returns it."
    setattr(Tensor, in_place_name, in_place)
    NAMES.setdefault(in_place_name, in_place)


def _with_out(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None) if kwargs else None
        try:
            result = function(*args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:
                raise
            raise _wrong_call(name, function, error) from None  # it never began to run
        return result if out is None else write_out(name, out, result)

    return call


def _wrong_call(name: str, function: Callable[..., Any], error: TypeError) -> Exception:
    """Python's error for arguments that do not fit a signature, as one of ours."""
    _, _, complaint = str(error).partition("() ")
    signature = inspect.signature(function)
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    shown = signature.replace(parameters=plain, return_annotation=signature.empty)
    return ArgumentTypeError(
        name, "call", was=f"wrong: it {complaint or error}", needed=f"{name}{shown}"
    )
