"""A public function as its callers see it: overridable, with errors that are ours.

Its arguments may handle the call, have to be what its annotations say, and `out=` is
written. What is asked is asked once for each combination of types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from keyword import iskeyword
from typing import Any, Final

from dovetail.engine.annotations import (
    PLAIN,
    TENSORS,
    Expected,
    check_size,
    types_of,
)  # fmt: skip
from dovetail.engine.arguments import Shown, explained, respelled
from dovetail.engine.attributes import SPELLINGS
from dovetail.engine.autocast import as_one, casting
from dovetail.engine.function_modes import active, forgets
from dovetail.engine.homes import home_of
from dovetail.engine.integers import LEAST, MOST
from dovetail.engine.older_calls import in_order
from dovetail.engine.op import TakesOut
from dovetail.engine.out import check_asked, write_out
from dovetail.engine.overrides import ask, modes, overridden
from dovetail.engine.tensor import asked
from dovetail.errors import ArgumentTypeError, DovetailError

# Types of arguments that cannot handle a call themselves.
_ORDINARY: Final = PLAIN - {type} | TENSORS
_NOBODY: Final = ()  # handles a call but the function
# Keywords that a function may not have itself; a parameter cannot be called `from`.
_TRANSLATED: Final = frozenset({"out", "from", *SPELLINGS})


def _overridden(values: tuple[Any, ...]) -> list[type]:
    """`overridden`, which looks into no sequence of what is ordinary."""
    return overridden([
        v for v in values if type(v) not in _ORDINARY
        and not (type(v) in (tuple, list) and _ORDINARY.issuperset(map(type, v)))
    ])  # fmt: skip


_usual: Final[list[dict[Any, Any]]] = []  # those of all functions


def _forget_all() -> None:
    for known in _usual:
        known.clear()


forgets.append(_forget_all)


class _Edge:
    """What is asked of a public function's arguments before it is called.

    Attributes:
        usual: by the types of arguments that fit, and need nothing done to them, where
            integers are, whose size is to be asked for; as many as there are
            combinations of ordinary types that the function was called with.
    """

    __slots__ = ("asks", "expected", "function", "method", "name", "out", "usual")

    def __init__(
        self, function: Callable[..., Any], name: str, out: TakesOut, asks: bool,
        method: bool,
    ) -> None:  # fmt: skip
        self.function = function
        self.name = name
        self.out = out
        self.asks = asks
        self.method = method
        self.usual: dict[Any, tuple[int | str, ...]] = {}
        _usual.append(self.usual)
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
        classes = _overridden((*args, *kwargs.values())) if self.asks else modes()
        if classes:
            return classes, None, args, kwargs
        if self.expected is None:
            self.expected = Expected(self.name, self.function)
        args, kwargs, older = in_order(self.name, args, kwargs)
        plain = not older and (not kwargs or _TRANSLATED.isdisjoint(kwargs))
        target = None
        if not plain and kwargs:
            target, args, kwargs = self._translated(args, kwargs)
        integers = self.expected.check(args, kwargs, self.asks)
        if plain and integers is not None and not (
            classes or asked.nobody or active[0]
        ):  # fmt: skip
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
        """Raise for an integer that is too large for its parameter, and name that."""
        if LEAST <= value <= MOST or self.expected is None:
            return
        expected = self.expected
        if isinstance(at, str):
            name, annotation = at, expected.named[at]
        else:
            given = (*expected.places, expected.more)[min(at, len(expected.places))]
            assert given is not None
            name, annotation = given
        check_size(self.name, name, annotation, value)


def guarded(
    function: Callable[..., Any], name: str, out: TakesOut, asks: bool = True,
    method: bool = False, autocast: str | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """`function` as its callers see it: overridable, with errors that are ours.

    Args:
        name: for errors.
        out: as of `public`; `out=` is written here.
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
            if target is not None:
                check_asked(name, kwargs.get("dtype"), target)
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
        return result if target is None else write_out(name, out, target, result)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    call.__module__ = home_of(function)
    call.__wrapped__ = Shown(function, True) if out else function  # type: ignore[attr-defined]
    return call
