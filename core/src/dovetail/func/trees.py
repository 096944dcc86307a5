"""Values in tuples, lists and dicts: taken apart, and put together in the same form."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail.errors import ArgumentError


class Tree(NamedTuple):
    """The form of a value: its class, the keys of a dict, and what is in it.

    Attributes:
        cls: None for a value on its own.
    """

    cls: Any = None
    keys: tuple[Any, ...] = ()
    parts: tuple[Any, ...] = ()

    @property
    def size(self) -> int:
        """How many values are in it."""
        return 1 if self.cls is None else sum(part.size for part in self.parts)


_ALONE = Tree()


def taken_apart(value: Any) -> tuple[list[Any], Tree]:
    """The values in nested containers, in order, and the form that they had."""
    keys, items = _items(value)
    if items is None:
        return [value], _ALONE
    values: list[Any] = []
    forms = []
    for item in items:
        inner, form = taken_apart(item)
        values += inner
        forms.append(form)
    return values, Tree(type(value), keys, tuple(forms))


def _items(value: Any) -> tuple[tuple[Any, ...], list[Any] | None]:
    """Keys and items of a container; None for what is none."""
    cls = type(value)
    if cls in (dict, OrderedDict):
        return tuple(value), list(value.values())
    if cls in (tuple, list) or (isinstance(value, tuple) and _has_fields(cls)):
        return (), list(value)
    return (), None


def _has_fields(cls: Any) -> bool:
    return hasattr(cls, "_fields") or hasattr(cls, "n_fields")


def put_together(values: list[Any], form: Tree) -> Any:
    """What `taken_apart` took apart, with other values."""
    rest = iter(values)
    return _built(form, lambda: next(rest))


def _built(form: Tree, following: Callable[[], Any]) -> Any:
    if form.cls is None:
        return following()
    parts = [_built(part, following) for part in form.parts]
    if form.cls in (dict, OrderedDict):
        return form.cls(zip(form.keys, parts, strict=True))
    if form.cls in (tuple, list):
        return form.cls(parts)
    return form.cls(*parts) if hasattr(form.cls, "_fields") else form.cls(parts)


def spread(name: str, argument: str, wanted: Any, form: Tree) -> list[Any]:
    """A value for each of a form's values: one for all below a place, or a container.

    Raises:
        ArgumentError: a container that does not fit the form.
    """
    if not isinstance(wanted, tuple | list | dict):
        return [wanted] * form.size
    keys, items = _items(wanted)
    if form.cls is None or items is None or len(items) != len(form.parts):
        raise ArgumentError(
            name, argument, was=repr(wanted),
            needed="a number or None, or the form of what it is for",
        )  # fmt: skip
    if keys and set(keys) == set(form.keys):
        items = [wanted[key] for key in form.keys]
    found = []
    for item, part in zip(items, form.parts, strict=True):
        found += spread(name, argument, item, part)
    return found
