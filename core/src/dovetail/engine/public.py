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
from collections.abc import Callable, Sequence
from keyword import iskeyword
from typing import Any, Final, TypeVar

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.annotations import (
    Expected,
    check_size,
    conforms,
    described,
    types_of,
)
from dovetail.engine.arguments import Shown, explained, respelled
from dovetail.engine.attributes import LEAST, MOST, SPELLINGS
from dovetail.engine.autocast import as_one, casting
from dovetail.engine.calls import before, over, public_callable
from dovetail.engine.geometry import geometry_form
from dovetail.engine.inplace import inplace
from dovetail.engine.op import Op
from dovetail.engine.out import write_out
from dovetail.engine.overrides import ask
from dovetail.engine.tensor import Parameter, Size, Tensor, overridden
from dovetail.errors import ArgumentTypeError, DovetailError

F = TypeVar("F", bound=Callable[..., Any])

# By where torch has them: the package itself, nn.functional, and so on.
NAMESPACES: Final[dict[str, dict[str, Any]]] = {"torch": {}, "F": {}}

_ABSENT: Final = object()
# Types of arguments that cannot handle a call themselves.
_ORDINARY: Final = frozenset({
    Tensor, Parameter, int, float, complex, bool, type(None), str, DType, device, Size,
    slice, type(Ellipsis),
})  # fmt: skip
_NOBODY: Final = ()  # handles a call but the function
# Keywords that a function may not have itself; a parameter cannot be called `from`.
_TRANSLATED: Final = frozenset({"out", "from", *SPELLINGS})


def public(
    names: str,
    *,
    out: bool = False,
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
        out: the function takes `out=`, a tensor (or a tuple of them) for its results.
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
        if takes_out:
            method = guarded(function, first, False, asks, True, autocast)
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
            function = _in_place(name, written or call, view)
            function = function if plain is None else over(plain, name, function)
            _put(space, name, function, function)
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


def publish_op(op: Op, names: str, out: bool) -> None:
    """Put an op under torch's names, each a callable that knows its own name."""
    for entry in names.split():
        path, _, option = entry.partition("(")
        space, _, name = path.rpartition(".")
        plain = name.removesuffix("*")
        if space in ("", "torch"):
            op.public += (plain,)
        method = function = public_callable(op, plain, False)
        if option:
            function = _overwriting(name, op, method)
        elif name.endswith("_") and not op.name.endswith("_"):
            method = function = _in_place(name, method, op.view)
        elif name.endswith("*") and len(op.params) == 2:
            method = before(op, plain, opened(method), items=True)
        elif out and not op.view and space not in ("Tensor", "F"):
            function = public_callable(op, plain, True)
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
    if space != "Tensor":
        NAMESPACES.setdefault(space or "torch", {})[name] = function


def _overridden(values: tuple[Any, ...]) -> list[type]:
    """`overridden`, which looks into no sequence of what is ordinary."""
    return overridden([
        v for v in values if type(v) not in _ORDINARY
        and not (type(v) in (tuple, list) and _ORDINARY.issuperset(map(type, v)))
    ])  # fmt: skip


def _last(entry: str) -> str:
    return entry.rpartition(".")[2]


class _Edge:
    """What is asked of a public function's arguments before it is called.

    Attributes:
        usual: by the types of arguments that fit, and need nothing done to them, where
            integers are, whose size is to be asked for; as many as there are
            combinations of ordinary types that the function was called with.
    """

    __slots__ = ("asks", "expected", "function", "method", "name", "out", "usual")

    def __init__(
        self, function: Callable[..., Any], name: str, out: bool, asks: bool,
        method: bool,
    ) -> None:  # fmt: skip
        self.function = function
        self.name = name
        self.out = out
        self.asks = asks
        self.method = method
        self.usual: dict[Any, tuple[int | str, ...]] = {}
        self.expected: Expected | None = None  # made when it is first needed

    def look(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Sequence[type], Any, tuple[Any, ...], dict[str, Any]]:
        """Classes that handle the call, `out`, and arguments as the function has them.

        Raises:
            ArgumentTypeError: an argument is not what its annotation says.
        """
        key = types_of(args)  # also of what is in sequences
        if kwargs:
            key = (key, *kwargs, *types_of(kwargs.values()))
        integers = self.usual.get(key)
        if integers is not None:
            for at in integers:
                self.check_size(at, kwargs[at] if isinstance(at, str) else args[at])
            return _NOBODY, None, args, kwargs
        classes = _overridden((*args, *kwargs.values()))
        if classes and self.asks:
            return classes, None, args, kwargs
        if self.expected is None:
            self.expected = Expected(self.name, self.function)
        plain = not kwargs or _TRANSLATED.isdisjoint(kwargs)
        target = None
        if not plain:
            target, args, kwargs = self._translated(args, kwargs)
        integers = self.expected.check(args, kwargs)
        if plain and integers is not None and not classes:
            self.usual[key] = integers
        return _NOBODY, target, args, kwargs

    def _translated(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """`out`, and the arguments without it, by the names that the function has."""
        if self.method and "out" in kwargs:
            raise ArgumentTypeError(
                self.name, "out", was="given", needed="none: a method takes no out="
            )
        target = kwargs.pop("out", None) if self.out else None
        kwargs = respelled(self.function, kwargs)
        if self.expected is not None and len(args) < len(self.expected.places):
            following = self.expected.places[len(args)][0].removesuffix("_")
            if following in kwargs and iskeyword(following):
                args = (*args, kwargs.pop(following))
        return target, args, kwargs

    def check_size(self, at: int | str, value: int) -> None:
        """Raise for an integer of more than 64 bits, and name its parameter."""
        if LEAST <= value <= MOST or self.expected is None:
            return
        expected, name = self.expected, at
        if isinstance(at, int):
            given = (*expected.places, expected.more)[min(at, len(expected.places))]
            name = given[0] if given is not None else at
        check_size(self.name, str(name), value)


def guarded(
    function: Callable[..., Any], name: str, out: bool, asks: bool = True,
    method: bool = False, autocast: str | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """`function` as its callers see it: overridable, with errors that are ours.

    Args:
        name: for errors.
        out: it takes `out=`, which is written here.
        asks: arguments may handle the call.
        method: it is one of Tensor's, which takes no `out=`, though the function may.
        autocast: as of `public`.
    """
    if isinstance(function, type):  # who asks `isinstance`, or catches it, needs it
        return function
    edge = _Edge(function, name, out, asks, method)
    usual = edge.usual
    one = None if autocast is None else as_one(function, autocast)

    def call(*args: Any, **kwargs: Any) -> Any:
        target = None
        key: Any = tuple(map(type, args))
        if kwargs:
            key = (key, *kwargs, *map(type, kwargs.values()))
        integers = usual.get(key)
        if integers is None:
            classes, target, args, kwargs = edge.look(args, kwargs)
            if classes:
                return ask(call, name, classes, args, kwargs)
        elif integers:
            for at in integers:
                value = kwargs[at] if isinstance(at, str) else args[at]
                if not LEAST <= value <= MOST:
                    edge.check_size(at, value)
        try:
            if one is None or casting() is None:
                result = function(*args, **kwargs)
            else:
                result = one(*args, **kwargs)
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
    call.__wrapped__ = Shown(function, out) if out else function  # type: ignore[attr-defined]
    return call


def opened(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose argument is a sequence of which it may be given the items."""

    def method(self: Any, *items: Any, **named: Any) -> Any:
        if named or (len(items) == 1 and not hasattr(items[0], "__index__")):
            return function(self, *items, **named)
        if not items:
            raise ArgumentTypeError(
                function.__name__, "call", was="without sizes or dims",
                needed="integers, or one sequence of them",
            )  # fmt: skip
        return function(self, items)

    method.takes_items = True  # type: ignore[attr-defined]
    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    method.__module__ = function.__module__
    method.__wrapped__ = getattr(function, "__wrapped__", function)  # type: ignore[attr-defined]
    return method


def methods(**functions: Callable[..., Any]) -> None:
    """Give Tensor methods of its own, guarded as public functions are."""
    for name, function in functions.items():
        setattr(Tensor, name, guarded(function, name, False))


def constructor(init: Callable[..., None], name: str) -> Callable[..., None]:
    """`__init__` of a class that users make, with errors that are ours."""

    @functools.wraps(init)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except DovetailError:
            raise
        except Exception as error:
            ours = explained(name, init, (self, *args), kwargs, error)
            if ours is None:
                raise
            raise ours from error

    return make


def in_place_form(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`x.name(…)`: the functional form written into `x`."""

    def written(input: Any = _ABSENT, *args: Any, **kwargs: Any) -> Any:
        given = () if input is _ABSENT else (input, *args)
        if (
            type(input) is not Tensor
            or kwargs
            or (args and type(args[0]) is not Tensor)
        ):
            classes = overridden((*given, *kwargs.values()))
            if classes:
                return ask(offered, name, classes, given, kwargs)
        if "out" in kwargs:  # what it writes is the tensor itself
            raise ArgumentTypeError(name, "out", was="given", needed="no out=")
        try:
            return inplace(name, function, *given, **kwargs)
        except DovetailError:
            raise
        except Exception as error:
            ours = explained(name, function, given, kwargs, error)
            if ours is None:
                raise
            raise ours from error

    written.__name__ = written.__qualname__ = name
    written.__doc__ = f"`{name[:-1]}` written into the tensor, which is returned."
    written.__module__ = function.__module__
    written.__wrapped__ = Shown(function)  # type: ignore[attr-defined]
    op = getattr(function, "op", None)
    offered = written if op is None else over(op, name, written)
    return offered


def _overwriting(name: str, op: Op, call: Any) -> Callable[..., Any]:
    """`name(input, …, inplace=False)`: an op that may write over its input."""

    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        overwrite = kwargs.pop("inplace", False) if kwargs else False
        if type(input) is not Tensor:
            classes = overridden((input, *args, *kwargs.values()))
            if classes:
                given = {**kwargs, "inplace": True} if overwrite else kwargs
                return ask(function, name, classes, (input, *args), given)
        if len(args) == len(op.names):
            *args, overwrite = args  # type: ignore[assignment]
        if overwrite is not False and not conforms("bool", overwrite):
            raise ArgumentTypeError(
                name, "inplace", was=described(overwrite), needed="True or False"
            )
        if overwrite:
            return inplace(f"{name}_", call, input, *args, **kwargs)
        return call(input, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__, function.__module__ = call.__doc__, call.__module__
    function.__wrapped__ = Shown(op.body, inplace=True)  # type: ignore[attr-defined]
    return function
