"""Values in tuples, lists and dicts: taken apart, and put together in the same form."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from dovetail.engine.tensor_type import Size, size_of
from dovetail.errors import ArgumentError


class Tree(NamedTuple):
    """The form of a value: its class, the keys of a dict, and what is in it.

    Attributes:
        cls: None for a value on its own.
    """

    cls: Any = None
    keys: tuple[Any, ...] = ()
    parts: tuple[Tree, ...] = ()

    @property
    def size(self) -> int:
        """How many values are in it."""
        return 1 if self.cls is None else sum(part.size for part in self.parts)

    # What programs ask of a form, by torch's names.

    @property
    def type(self) -> Any:
        """The container's class, None for a value on its own."""
        return self.cls

    @property
    def context(self) -> Any:
        """What has to be known of the container beside what is in it."""
        if self.cls in CONTAINERS:
            return self.keys[0]
        return list(self.keys) if self.keys else None

    @property
    def num_leaves(self) -> int:
        """How many values are in it."""
        return self.size

    @property
    def num_nodes(self) -> int:
        """How many values and containers are in it, itself among them."""
        return 1 + sum(part.num_nodes for part in self.parts)

    @property
    def num_children(self) -> int:
        """How many parts it has."""
        return len(self.parts)

    def is_leaf(self) -> bool:
        """Whether it is that of a value on its own."""
        return self.cls is None

    def children(self) -> list[Tree]:
        """The forms of its parts."""
        return list(self.parts)

    def child(self, index: int) -> Tree:
        """The form of one part."""
        return self.parts[index]


class Container(NamedTuple):
    """How values of a class are taken apart, and put together again.

    Attributes:
        items: what is in one, and what else has to be known of it.
        built: one of items and that.
    """

    items: Callable[[Any], tuple[Iterable[Any], Any]]
    built: Callable[[Any, Any], Any]


ALONE: Final = Tree()
# Classes beside tuples, lists and dicts whose values are containers; users add theirs.
CONTAINERS: Final[dict[Any, Container]] = {
    Size: Container(lambda size: (size, None), lambda parts, _: size_of(parts)),
    deque: Container(lambda line: (line, line.maxlen), deque),
    defaultdict: Container(
        lambda found: (found.values(), (found.default_factory, tuple(found))),
        lambda parts, known: defaultdict(known[0], zip(known[1], parts, strict=True)),
    ),
}


def taken_apart(
    value: Any, alone: Callable[[Any], bool] | None = None
) -> tuple[list[Any], Tree]:
    """The values in nested containers, in order, and the form that they had.

    Args:
        alone: whether a container is not to be taken apart.
    """
    values: list[Any] = []
    return values, _form(value, alone, values)


def _form(value: Any, alone: Callable[[Any], bool] | None, values: list[Any]) -> Tree:
    """The form of a value, what is in which joins others."""
    keys, items = (), None
    if alone is None or not alone(value):
        keys, items = items_of(value)
    if items is None:
        values.append(value)
        return ALONE
    parts = tuple([_form(item, alone, values) for item in items])
    return Tree(type(value), keys, parts)


def items_of(value: Any) -> tuple[tuple[Any, ...], list[Any] | None]:
    """Keys and items of a container; None for what is none."""
    cls = type(value)
    container = CONTAINERS.get(cls)
    if container is not None:
        items, known = container.items(value)
        return (known,), list(items)
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
    return container_of(form, parts)


def container_of(form: Tree, parts: list[Any]) -> Any:
    """A container of a form, of what is directly in it."""
    container = CONTAINERS.get(form.cls)
    if container is not None:
        return container.built(parts, *form.keys)
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
    keys, items = items_of(wanted)
    if form.cls is None or items is None or len(items) != len(form.parts):
        raise ArgumentError(
            name, argument, was=repr(wanted),
            needed="a number or None, or the form of what it is for",
        )  # fmt: skip
    if {type(wanted), form.cls} <= {dict, OrderedDict} and set(keys) == set(form.keys):
        items = [wanted[key] for key in form.keys]
    found = []
    for item, part in zip(items, form.parts, strict=True):
        found += spread(name, argument, item, part)
    return found
