"""Types of what pipes give, as their classes' parameters say."""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import Any, TypeVar, Union, get_args, get_origin


class PipeType:
    """The type of a pipe's items.

    Attributes:
        param: as it was written; `Any` where nothing was.
    """

    def __init__(self, param: Any) -> None:
        self.param = param

    def __repr__(self) -> str:
        return getattr(self.param, "__name__", None) or str(self.param)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PipeType) and self.param == other.param

    def __hash__(self) -> int:
        return hash(self.param)

    def issubtype(self, other: Any) -> bool:
        """Whether all such items are of another type, too."""
        return _is_subtype(self.param, getattr(other, "param", other))

    def issubtype_of_instance(self, item: Any) -> bool:
        """Whether an item is of the type."""
        return _is_instance(item, self.param)


def type_of(cls: Any) -> PipeType:
    """The type that the nearest base with a parameter has."""
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        if origin is not None and hasattr(origin, "register_function"):
            (param,) = get_args(base)
            return PipeType(Any if isinstance(param, TypeVar | str) else param)
    found: PipeType = cls.type
    return found


def of_hint(hint: Any) -> PipeType:
    """The type that the hint of an argument asks for: `IterDataPipe[int]`."""
    args = get_args(hint)
    return PipeType(args[0]) if args else type_of(hint)


def _choices(wanted: Any) -> tuple[Any, ...]:
    if get_origin(wanted) in (Union, types.UnionType):
        return get_args(wanted)
    if isinstance(wanted, TypeVar):
        return wanted.__constraints__ or (wanted.__bound__ or Any,)
    return (type(None) if wanted is None else wanted,)


def _is_subtype(found: Any, wanted: Any) -> bool:
    left, right = _choices(found), _choices(wanted)
    if Any in right:
        return True
    return all(any(_is_one(a, b) for b in right) for a in left)


def _is_one(found: Any, wanted: Any) -> bool:
    if found is Any:
        return False
    a, b = get_origin(found) or found, get_origin(wanted) or wanted
    if not (isinstance(a, type) and isinstance(b, type) and issubclass(a, b)):
        return bool(found == wanted)
    inner, needed = get_args(found), get_args(wanted)
    if not needed:
        return True
    if a is tuple and (Ellipsis in needed or Ellipsis in inner):
        items = [x for x in inner if x is not Ellipsis]
        return Ellipsis in needed and all(_is_subtype(x, needed[0]) for x in items)
    return len(inner) == len(needed) and all(map(_is_subtype, inner, needed))


def _is_instance(item: Any, wanted: Any) -> bool:
    choices = _choices(wanted)
    if Any in choices:
        return True
    return any(_is_one_instance(item, choice) for choice in choices)


def _is_one_instance(item: Any, wanted: Any) -> bool:
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin is typing.Literal:
        return item in inner
    if origin is None:
        return isinstance(item, wanted)
    if not isinstance(item, origin):
        return False
    if isinstance(item, tuple):
        if Ellipsis in inner:
            return all(_is_instance(x, inner[0]) for x in item)
        return len(item) == len(inner) and all(map(_is_instance, item, inner))
    if isinstance(item, collections.abc.Mapping):
        key, value = inner
        return all(
            _is_instance(k, key) and _is_instance(v, value) for k, v in item.items()
        )
    if isinstance(item, list | set | frozenset | collections.abc.Sequence):
        return all(_is_instance(x, inner[0]) for x in item)
    return True
