"""Datapipes: datasets that are made of others, one step after another."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, ClassVar, Final, TypeVar

from dovetail.errors import ArgumentError, CallOrderError, DovetailError

from ..dataset import Dataset, IterableDataset
from .iterators import ruled
from .types import PipeType, type_of

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_FORMS: Final = {
    "IterDataPipe": "dovetail.data.datapipes.iter",
    "MapDataPipe": "dovetail.data.datapipes.map",
}


class NoSuchStep(DovetailError, AttributeError):
    """A pipe has no attribute of that name, and there is no step that has it."""


class DataChunk(list[T]):
    """A batch of items, which is a list.

    Attributes:
        items: the same as a plain list.
    """

    def __init__(self, items: Iterable[T]) -> None:
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent: str = "") -> str:
        """The items in words, after an indent."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self) -> Iterator[T]:
        """An iterator over the items."""
        yield from self.items


class _Chained:
    """What both kinds of pipes have: steps as methods, types, hooks of pickles.

    Attributes:
        functions: the steps by name, which are called with the pipe first.
        type: of the items, as the class's parameter says.
    """

    functions: ClassVar[dict[str, Callable[..., Any]]]
    reduce_ex_hook: ClassVar[Callable[[Any], Any] | None] = None
    getstate_hook: ClassVar[Callable[[Any], Any] | None] = None
    str_hook: ClassVar[Callable[[Any], str] | None] = None
    repr_hook: ClassVar[Callable[[Any], str] | None] = None
    type: ClassVar[PipeType] = PipeType(Any)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.type = type_of(cls)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        function = self._forms().get(name)
        if function is None:
            raise NoSuchStep(
                type(self).__name__, name, was="no attribute, and no step",
                needed=f"one of {', '.join(sorted(self._forms()))}",
                remedy="functional_datapipe makes a class a step",
            )  # fmt: skip
        return functools.partial(function, self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._forms()})

    @classmethod
    def _kind(cls) -> Any:
        return next(c for c in cls.__mro__ if c.__name__ in _FORMS)

    @classmethod
    def _forms(cls) -> dict[str, Callable[..., Any]]:
        """All steps; the ones that are there by themselves load when asked for."""
        import_module(_FORMS[cls._kind().__name__])
        return cls.functions

    @classmethod
    def register_function(cls, function_name: str, function: Any) -> None:
        """Let pipes have a method: the function, called with the pipe first."""
        cls._forms()[function_name] = function

    def __getstate__(self) -> Any:
        hook = self._kind().getstate_hook
        return self.__dict__ if hook is None else hook(self.__dict__)

    def __reduce_ex__(self, protocol: Any) -> Any:
        hook = self._kind().reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(protocol)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Let a function make of a pipe's state what is pickled; None undoes it."""
        cls._set_hook("getstate_hook", hook_fn)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Let a function say how a pipe is pickled; None undoes it."""
        cls._set_hook("reduce_ex_hook", hook_fn)

    @classmethod
    def _set_hook(cls, name: str, hook: Any) -> None:
        if hook is not None and getattr(cls._kind(), name) is not None:
            raise CallOrderError(
                cls.__name__, name, was="set already", needed="one at a time",
                remedy="set it to None first",
            )  # fmt: skip
        # A plain attribute of the class would be a method of its instances.
        setattr(cls._kind(), name, None if hook is None else staticmethod(hook))

    def __repr__(self) -> str:
        hook = self._kind().repr_hook
        return type(self).__qualname__ if hook is None else hook(self)

    def __str__(self) -> str:
        hook = self._kind().str_hook
        return type(self).__qualname__ if hook is None else hook(self)


class IterDataPipe(_Chained, IterableDataset[T_co]):
    """Items one after another: a subclass has `__iter__`.

    Making an iterator resets the pipe and ends the iterators that were made before.

    Examples:
        >>> from dovetail.data.datapipes.iter import IterableWrapper
        >>> pipe = IterableWrapper(range(6)).filter(lambda x: x % 2 == 0)
        >>> list(pipe.map(lambda x: x + 1).batch(2))
        [[1, 3], [5]]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__iter__" in cls.__dict__:
            cls.__iter__ = ruled(cls.__dict__["__iter__"])  # type: ignore[method-assign]

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any,
        enable_df_api_tracing: bool = False,
    ) -> None:  # fmt: skip
        """Let pipes have a method that makes a pipe of a class of them.

        Args:
            enable_df_api_tracing: make what it gives a pipe of data frames.

        Raises: ArgumentError for a name that is taken.
        """
        _check_free(cls, function_name)

        def step(source: Any, *args: Any, **kwargs: Any) -> Any:
            made = cls_to_register(source, *args, **kwargs)
            frames = enable_df_api_tracing or isinstance(source, DFIterDataPipe)
            chunks = function_name in ("batch", "groupby", "fork", "demux")
            return _Frames(made) if frames and not chunks else made

        step.__doc__ = cls_to_register.__doc__
        cls.functions[function_name] = step

    def reset(self) -> None:
        """Return to the beginning: called when an iterator is made."""


class DFIterDataPipe(IterDataPipe[T_co]):
    """Data frames one after another: what steps make of them are data frames, too.

    A `filter` whose function gives a column of bools keeps the rows where it is true.
    """

    def _is_dfpipe(self) -> bool:
        return True


class _Frames(DFIterDataPipe[Any]):
    """Another pipe, whose items are data frames."""

    def __init__(self, datapipe: IterDataPipe[Any]) -> None:
        self.datapipe = datapipe

    def __iter__(self) -> Iterator[Any]:
        yield from self.datapipe

    def __len__(self) -> int:
        return len(self.datapipe)


class MapDataPipe(_Chained, Dataset[T_co]):
    """Items by number or key: a subclass has `__getitem__`.

    Examples:
        >>> from dovetail.data.datapipes.map import SequenceWrapper
        >>> pipe = SequenceWrapper(range(5)).map(lambda x: x * 10).batch(2)
        >>> pipe[2]
        [40]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any
    ) -> None:
        """Let pipes have a method that makes a pipe of a class of them.

        Raises: ArgumentError for a name that is taken.
        """
        _check_free(cls, function_name)

        def step(source: Any, *args: Any, **kwargs: Any) -> Any:
            return cls_to_register(source, *args, **kwargs)

        step.__doc__ = cls_to_register.__doc__
        cls.functions[function_name] = step


def _check_free(cls: Any, name: str) -> None:
    if name in cls._forms():
        raise ArgumentError(
            "functional_datapipe", "name", was=f"{name!r}, which is already taken",
            needed="one that no step has",
        )  # fmt: skip
