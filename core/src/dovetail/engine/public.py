"""torch's names, each declared beside the function that has it.

A list of names is text: `"maximum"` is a function of the package and a method of
Tensor; `"torch.x"`, `"Tensor.x"` and `"F.x"` (nn.functional) are only that. A trailing
underscore, as in `"abs_"` or `"Tensor.add_"`, asks for the in-place form, which is
derived. Ops take such a list as `torch=`; functions that are no op by `@public(…)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.arguments import Shown, explained, respelled
from dovetail.engine.inplace import check_writable, commit, fitting, inplace
from dovetail.engine.overrides import ask
from dovetail.engine.tensor import Parameter, Size, Tensor, overridden
from dovetail.errors import ArgumentError, ArgumentTypeError, DovetailError

F = TypeVar("F", bound=Callable[..., Any])

# By where torch has them: the package itself, nn.functional, and so on.
NAMESPACES: Final[dict[str, dict[str, Any]]] = {"torch": {}, "F": {}}

# Types of arguments that cannot handle a call themselves.
_ORDINARY: Final = frozenset({
    Tensor, Parameter, int, float, complex, bool, type(None), str, DType, device, Size,
    slice, type(Ellipsis),
})  # fmt: skip
_NUMBERS: Final = frozenset({int, float, complex, bool})


def public(names: str, *, out: bool = False) -> Callable[[F], F]:
    """Offer the decorated function under torch's names.

    Its arguments may handle the call (`__torch_function__`); an error from below that
    is not ours names the argument that its annotation refuses.

    Args:
        names: as the module says; the first is the one that errors show.
        out: the function takes `out=`, a tensor (or a tuple of them) for its results.
    """

    def offer(function: F) -> F:
        publish(guarded(function, _last(names.split(maxsplit=1)[0]), out), names)
        return function

    return offer


def publish(call: Any, names: str, *, out: bool = False) -> None:
    """Put a callable, and what derives from it, under torch's names.

    Args:
        out: functions take `out=`, which the callable itself does not.
    """
    needed = _no_numbers(call)
    for entry in names.split():
        space, _, name = entry.rpartition(".")
        of_two = bool(needed) and needed[-1][0] > 0
        method = guarded(call, name, False, needed) if of_two else call
        function = guarded(call, name, out, needed) if out or needed else call
        if name.endswith("_") and not call.__name__.endswith("_"):
            method = function = in_place_form(name, method)
        if space in ("", "Tensor"):
            setattr(Tensor, name, method)
        if space != "Tensor":
            NAMESPACES.setdefault(space or "torch", {})[name] = function


def _no_numbers(call: Any) -> tuple[tuple[int, str], ...]:
    """Operands of an elementwise op, by position, that torch takes as tensors alone.

    Bodies give numbers for any of them; one operand on its own is a tensor anyway.
    """
    op = getattr(call, "op", None)
    if op is None or not op.is_elementwise or op.has_list or len(op.tensors) < 2:
        return ()
    return tuple(
        (i, p.name) for i, p in enumerate(op.tensors)
        if not p.number and p.name not in op.masks | op.indices
    )  # fmt: skip


def _last(entry: str) -> str:
    return entry.rpartition(".")[2]


def guarded(
    function: Callable[..., Any], name: str, out: bool,
    needed: tuple[tuple[int, str], ...] = (),
) -> Callable[..., Any]:  # fmt: skip
    """`function` as its callers see it: overridable, with errors that are ours.

    Args:
        needed: arguments, by position, for which no number will do.
    """
    if isinstance(function, type):  # who asks `isinstance`, or catches it, needs it
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if type(value) not in _ORDINARY:
                classes = overridden((*args, *kwargs.values()))
                if classes:
                    return ask(call, name, classes, args, kwargs)
                break
        target = None
        if kwargs:
            classes = overridden(kwargs.values())
            if classes:
                return ask(call, name, classes, args, kwargs)
            target = kwargs.pop("out", None) if out else None
            if "axis" in kwargs or "keepdims" in kwargs:
                kwargs = respelled(function, kwargs)
        for at, parameter in needed:
            value = args[at] if at < len(args) else kwargs.get(parameter)
            if type(value) in _NUMBERS:
                raise ArgumentTypeError(
                    name, parameter, was=repr(value), needed="a Tensor"
                )
        try:
            result = function(*args, **kwargs)
        except DovetailError:
            raise
        except Exception as error:
            ours = explained(name, function, args, kwargs, error)
            if ours is None:
                raise
            raise ours from error
        return result if target is None else write_out(name, target, result)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    call.__module__ = function.__module__
    shown = getattr(function, "__wrapped__", None)
    body = shown.function if isinstance(shown, Shown) else function
    call.__wrapped__ = Shown(body, out)  # type: ignore[attr-defined]
    return call


def in_place_form(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`x.name(…)`: the functional form written into `x`."""

    def written(self: Any, *args: Any, **kwargs: Any) -> Any:
        if type(self) is not Tensor or kwargs or (args and type(args[0]) is not Tensor):
            classes = overridden((self, *args, *kwargs.values()))
            if classes:
                return ask(written, name, classes, (self, *args), kwargs)
        try:
            return inplace(name, function, self, *args, **kwargs)
        except DovetailError:
            raise
        except Exception as error:
            ours = explained(name, function, (self, *args), kwargs, error)
            if ours is None:
                raise
            raise ours from error

    written.__name__ = written.__qualname__ = name
    written.__doc__ = f"`{name[:-1]}` written into the tensor, which is returned."
    written.__module__ = function.__module__
    written.__wrapped__ = Shown(function)  # type: ignore[attr-defined]
    return written


def write_out(name: str, out: Any, result: Any) -> Any:
    """Write results into `out`, a tensor or a tuple of them: all or, on error, none."""
    several = isinstance(result, tuple)
    targets, sources = (tuple(out), result) if several else ((out,), (result,))
    if len(targets) != len(sources):
        raise ArgumentError(
            name, "out", was=f"{len(targets)} tensors", needed=f"{len(sources)}"
        )
    fit = []
    for target, source in zip(targets, sources, strict=True):
        check_writable(f"{name}(out=)", target)
        fit.append(fitting(f"{name}(out=)", target, source))
    written = list(map(commit, targets, fit))
    if not several:
        return written[0]
    return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
