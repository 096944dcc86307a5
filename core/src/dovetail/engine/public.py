"""torch's names, each declared beside the function that has it.

A list of names is text: `"maximum"` is a function of the package and a method of
Tensor; `"torch.x"`, `"Tensor.x"` and `"F.x"` (nn.functional) are only that. A trailing
underscore, as in `"abs_"` or `"Tensor.add_"`, asks for the in-place form, which is
derived. An asterisk, as in `"Tensor.permute*"`, lets the method take what its second
argument holds one by one; `"F.relu(inplace)"` has `inplace=` as its last parameter. Ops
take such a list as `torch=`; functions that are no op by `@public(…)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar

from dovetail.engine.arguments import explained
from dovetail.engine.calls import before, over, public_callable
from dovetail.engine.derived_forms import in_place_form, opened, overwriting
from dovetail.engine.geometry import geometry_form
from dovetail.engine.guard import guarded
from dovetail.engine.homes import called_so
from dovetail.engine.op import Op, TakesOut
from dovetail.engine.tensor import Tensor
from dovetail.errors import DovetailError

F = TypeVar("F", bound=Callable[..., Any])

# By where torch has them: the package itself, nn.functional, and so on.
NAMESPACES: Final[dict[str, dict[str, Any]]] = {"torch": {}, "F": {}}
_PACKAGE: Final = __name__.partition(".")[0]
_ROOMS: Final = {"F": "nn.functional"}


def public(
    names: str,
    *,
    out: TakesOut = False,
    view: bool = False,
    asks: bool = True,
    plain: Any = None,
    takes: tuple[str, ...] = (),
    autocast: str | None = None,
) -> Callable[[F], F]:
    """Offer the decorated function under torch's names.

    Its arguments may handle the call (`__torch_function__`); an error from below that
    is not ours names the argument that its annotation refuses.

    Args:
        names: as the module says; the first is the one that errors show.
        out: the function takes `out=`, a tensor (or a tuple of them) for its results;
            `"same"` where that has to have their dtypes.
        view: the result is a view, which the in-place form makes the tensor itself.
        asks: the arguments may handle the call; not where any object will do.
        plain: the op that a call without keywords of the function's own is.
        takes: the op's parameters that such a call gives, if they are not all of them
            or come in another order; more arguments than these are the function's own.
        autocast: the class of ops that autocast takes the function for, `none` for
            that of ops that are not cast; where not given, it casts what the function
            is made of. In-place forms are not cast.
    """

    def offer(function: F) -> F:
        first = _last(names.split(maxsplit=1)[0]).rstrip("*")
        call = guarded(function, first, out, asks, autocast=autocast)
        takes_out = out or "out" in (getattr(function, "__kwdefaults__", None) or ())
        method = call
        if takes_out or _both(names):
            method = guarded(function, first, False, asks, bool(takes_out), autocast)
        op = None if plain is None else plain.op
        written = None
        if autocast is not None:
            written = guarded(function, first, False, asks, autocast="none")
        publish(
            call, names, view=view, plain=op, takes=takes, method=method,
            written=written,
        )  # fmt: skip
        return function

    return offer


def publish(
    call: Any, names: str, *, view: bool = False, plain: Op | None = None,
    takes: tuple[str, ...] = (), method: Any = None, written: Any = None,
) -> None:  # fmt: skip
    """Put a callable, and what derives from it, under torch's names.

    `plain` is the op that a call without further arguments than `takes` is; `method`
    the callable as Tensor has it, which takes no `out=`; `written` what in-place forms
    are made of.
    """
    for entry in names.split():
        space, _, name = entry.rpartition(".")
        if name.endswith("_") and not call.__name__.endswith("_"):
            made = [_in_place(name, written or call, view) for _ in range(2)]
            if plain is not None:
                made = [over(plain, name, each) for each in made]
            _put(space, name, *made)
            continue
        function = _with_fast_path(call, name, plain, takes)
        own = function
        if method is not None and method is not call:
            own = _with_fast_path(method, name, plain, takes)
        _put(space, name, own, function)


def _with_fast_path(
    slow: Any, name: str, plain: Op | None, takes: tuple[str, ...]
) -> Any:
    """`slow`, with the fast path of the op before it that a plain call is."""
    if plain is None:
        return slow
    items = name.endswith("*")
    slow = opened(slow) if items else slow
    return before(plain, name.rstrip("*"), slow, takes, items)


def publish_op(op: Op, names: str, out: TakesOut) -> None:
    """Put an op under torch's names, each a callable that knows its own name."""
    for entry in names.split():
        path, _, option = entry.partition("(")
        space, _, name = path.rpartition(".")
        plain = name.removesuffix("*")
        if space in ("", "torch"):
            op.public += (plain,)
        method = function = public_callable(op, plain, False)
        if option:
            function = overwriting(name, op, method)
        elif plain.endswith("_") and not op.name.endswith("_"):
            method, function = (_in_place(plain, method, op.view) for _ in range(2))
        elif name.endswith("*") and len(op.params) == 2:
            method = before(op, plain, opened(method), items=True)
        elif out and not op.view and space not in ("Tensor", "F"):
            function = public_callable(op, plain, True)
        elif not space:
            function = public_callable(op, plain, False)
        _put(space, name, method, function)


def _in_place(name: str, function: Any, view: bool) -> Any:
    if view:
        return guarded(geometry_form(name, function), name, False)
    return in_place_form(name, function)


def _put(space: str, name: str, method: Any, function: Any) -> None:
    if name.endswith("*"):
        name = name[:-1]
        method = method if getattr(method, "takes_items", False) else opened(method)
    if space in ("", "Tensor"):
        setattr(Tensor, name, method)
        called_so(method, _PACKAGE, f"Tensor.{name}")
    if space != "Tensor":
        NAMESPACES.setdefault(space or "torch", {})[name] = function
        room = "" if space in ("", "torch") else f".{_ROOMS.get(space, space)}"
        called_so(function, _PACKAGE + room, name)


def _both(names: str) -> bool:
    """Whether a name is a function and a method: who handles calls tells them apart."""
    spaces = {entry.rpartition(".")[0] for entry in names.split()}
    return "" in spaces or spaces > {"Tensor"}


def _last(entry: str) -> str:
    return entry.rpartition(".")[2]


def is_public(function: Any) -> bool:
    """Whether it is one of torch's functions, as users find it."""
    name = function.__name__
    return any(space.get(name) is function for space in NAMESPACES.values())


def methods(**functions: Callable[..., Any]) -> None:
    """Give Tensor methods of its own, guarded as public functions are."""
    for name, function in functions.items():
        method = guarded(function, name, False)
        called_so(method, _PACKAGE, f"Tensor.{name}")
        setattr(Tensor, name, method)


def constructor(init: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`__init__` or `__new__` of a class that users make, with errors that are ours."""

    @functools.wraps(init)
    def make(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return init(self, *args, **kwargs)
        except DovetailError:
            raise
        except Exception as error:
            shown = type(self).__name__ if name.startswith("_") else name
            ours = explained(shown, init, (self, *args), kwargs, error)
            if ours is None:
                raise
            raise ours from error

    return make
