"""Decorators of pipes: steps by name, determinism, and types that are checked."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Final, TypeVar, get_origin, get_type_hints

from dovetail.errors import ArgumentTypeError, DTypeError

from .datapipe import IterDataPipe, MapDataPipe
from .types import of_hint

C = TypeVar("C")
_deterministic: Final[ContextVar[bool]] = ContextVar("deterministic", default=False)
_validates: Final[ContextVar[bool]] = ContextVar("validates", default=True)


class functional_datapipe:  # noqa: N801  torch's name
    """Class decorator that makes a pipe's class a step: a method of other pipes.

    Args:
        name: of the method.
        enable_df_api_tracing: whether it gives data frames.

    Raises: ArgumentError for a name that is taken.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: C) -> C:
        made: Any = getattr(cls, "cls", cls)  # of a `non_deterministic`
        made = getattr(getattr(made, "__self__", None), "cls", made)
        if isinstance(made, type) and issubclass(made, IterDataPipe):
            frames = self.enable_df_api_tracing
            IterDataPipe.register_datapipe_as_function(self.name, cls, frames)
        elif isinstance(made, type) and issubclass(made, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        else:
            raise ArgumentTypeError(
                "functional_datapipe", "the decorated", was=repr(cls),
                needed="a class that derives from IterDataPipe or MapDataPipe",
            )  # fmt: skip
        return cls


class _Switch:
    """Sets a mode at once; as a context manager, restores it at the end."""

    def __init__(self, mode: ContextVar[bool], value: bool) -> None:
        self.mode, self.before = mode, mode.get()
        mode.set(value)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self.mode.set(self.before)


class guaranteed_datapipes_determinism(_Switch):  # noqa: N801  torch's name
    """Context manager in which pipes that are `non_deterministic` are refused."""

    def __init__(self) -> None:
        super().__init__(_deterministic, True)


class runtime_validation_disabled(_Switch):  # noqa: N801  torch's name
    """Context manager in which `runtime_validation` looks at no items."""

    def __init__(self) -> None:
        super().__init__(_validates, False)


class non_deterministic:  # noqa: N801  torch's name
    """Class decorator for pipes whose items differ from run to run.

    Args:
        arg: the class; or a function of the arguments that a pipe is made with, which
            says whether that one is not deterministic, and then it is called with the
            class.

    Raises: ArgumentTypeError for what is neither.
    """

    def __init__(self, arg: Any) -> None:
        self.cls: Any = None
        self.deterministic_fn: Callable[..., bool] | None = None
        if isinstance(arg, type):
            self.cls = _iterable(arg)
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise ArgumentTypeError(
                "non_deterministic", "arg", was=repr(arg),
                needed="a class that derives from IterDataPipe, or a function",
            )  # fmt: skip

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is None:
            self.cls = _iterable(args[0])
            return self.deterministic_wrapper_fn
        _check_determinism(self.cls, True)
        return self.cls(*args, **kwargs)

    def deterministic_wrapper_fn(self, *args: Any, **kwargs: Any) -> Any:
        """A pipe of the class, unless determinism is asked for and it has none."""
        assert self.deterministic_fn is not None
        differs = self.deterministic_fn(*args, **kwargs)
        if not isinstance(differs, bool):
            raise ArgumentTypeError(
                "non_deterministic", "what the function gave", was=repr(differs),
                needed="a bool: True where items differ from run to run",
            )  # fmt: skip
        _check_determinism(self.cls, differs)
        return self.cls(*args, **kwargs)


def _iterable(cls: Any) -> Any:
    if not (isinstance(cls, type) and issubclass(cls, IterDataPipe)):
        raise ArgumentTypeError(
            "non_deterministic", "the decorated", was=repr(cls),
            needed="a class that derives from IterDataPipe",
        )  # fmt: skip
    return cls


def _check_determinism(cls: Any, differs: bool) -> None:
    if differs and _deterministic.get():
        raise ArgumentTypeError(
            cls.__name__, "pipe", was="non-deterministic",
            needed="one that is, under guaranteed_datapipes_determinism",
            remedy="make it outside, if that is acceptable",
        )  # fmt: skip


def argument_validation(f: Any) -> Any:
    """Decorator that checks pipes among the arguments by the types of their items.

    `def __init__(self, source: IterDataPipe[int])` then takes only a pipe whose class
    derives from `IterDataPipe[int]`, or of a type below it.

    Raises: ArgumentTypeError in calls with other arguments.
    """
    signature = inspect.signature(f)

    @functools.wraps(f)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            hint = get_type_hints(f).get(name)
            if _is_pipe(get_origin(hint) or hint):
                _check_pipe(f.__qualname__, name, value, hint)
        return f(*args, **kwargs)

    return checked


def _is_pipe(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, IterDataPipe | MapDataPipe)


def _check_pipe(call: str, name: str, value: Any, hint: Any) -> None:
    wanted = of_hint(hint)
    kind = get_origin(hint) or hint
    if not isinstance(value, kind):
        raise ArgumentTypeError(
            call, name, was=f"a {type(value).__name__}", needed=f"an {kind.__name__}"
        )
    if not value.type.issubtype(wanted):
        raise ArgumentTypeError(
            call, name, was=f"a pipe of {value.type}", needed=f"one of {wanted}"
        )


def runtime_validation(f: Any) -> Any:
    """Decorator of `__iter__` that checks each item by the class's type.

    Raises: DTypeError, a RuntimeError, for an item of another type.
    """
    if f.__name__ != "__iter__":
        raise ArgumentTypeError(
            "runtime_validation", "the decorated", was=f.__name__, needed="__iter__"
        )

    @functools.wraps(f)
    def checked(self: Any) -> Iterator[Any]:
        for item in f(self):
            if _validates.get() and not self.type.issubtype_of_instance(item):
                raise DTypeError(
                    type(self).__name__, "an item",
                    was=f"{item!r}, a {type(item).__name__}", needed=str(self.type),
                )  # fmt: skip
            yield item

    return checked
