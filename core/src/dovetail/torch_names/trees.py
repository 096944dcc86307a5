"""`torch.utils._pytree`: nested containers, and functions of what is in them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final, NamedTuple

from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.func.trees import (
    ALONE,
    CONTAINERS,
    Container,
    Tree,
    container_of,
    items_of,
    put_together,
    taken_apart,
)

TreeSpec: Final = Tree
PyTreeSpec: Final = Tree
PyTree: Final = Any
Context: Final = Any
IsLeaf = Callable[[Any], bool] | None
Paths = list[tuple[tuple[Any, ...], Any]]
_DICTS: Final = (dict, OrderedDict, defaultdict)
# Of classes that were registered with one: keys and values of what is in a value.
_WITH_KEYS: Final[dict[type, Callable[[Any], tuple[list[tuple[Any, Any]], Any]]]] = {}


def LeafSpec() -> Tree:  # noqa: N802  torch's name
    """The form of a value that is no container."""
    return ALONE


# ---- classes of containers


def register_pytree_node(
    cls: type, flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Any, Any], Any], *, serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]]
    | None = None,
) -> None:  # fmt: skip
    """From now on, values of a class are containers, of all transforms too.

    Args:
        flatten_fn: gives what is in one, and what else has to be known of it.
        unflatten_fn: makes one of these two.
        serialized_type_name, to_dumpable_context, from_dumpable_context: taken as torch
            takes them; forms are not written as text.
        flatten_with_keys_fn: as `flatten_fn`, with a key beside each value.

    Raises: ArgumentError if values of the class are containers already.
    """
    if cls in CONTAINERS or cls in (tuple, list, dict, OrderedDict):
        raise ArgumentError(
            "register_pytree_node", "cls", was=f"{cls!r}, which is already registered "
            "as pytree node", needed="another class",
        )  # fmt: skip
    CONTAINERS[cls] = Container(flatten_fn, unflatten_fn)
    if flatten_with_keys_fn is not None:
        _WITH_KEYS[cls] = flatten_with_keys_fn


def _register_pytree_node(
    cls: type, flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Any, Any], Any], *_texts: Any, **options: Any,
) -> None:  # fmt: skip
    """As `register_pytree_node`, by its older name; a class may come again."""
    CONTAINERS.pop(cls, None)
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls: type) -> None:
    """Values of a class are no containers any more."""
    CONTAINERS.pop(cls, None)
    _WITH_KEYS.pop(cls, None)


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None, serialized_type_name: str | None = None,
) -> None:  # fmt: skip
    """From now on, values of a class of fields are containers of these.

    Args:
        field_names: those that are in a value, by default all of a dataclass.
        drop_field_names: those that are forgotten, and have defaults.
    """
    if field_names is None and not is_dataclass(cls):
        raise ArgumentError(
            "register_dataclass", "cls", was=cls.__name__, needed="a dataclass, or one "
            "whose field_names are given",
        )  # fmt: skip
    found = field_names or [f.name for f in fields(cls) if f.init]
    names = [name for name in found if name not in (drop_field_names or ())]

    def with_keys(value: Any) -> tuple[list[tuple[Any, Any]], Any]:
        return [(GetAttrKey(n), getattr(value, n)) for n in names], tuple(names)

    register_pytree_node(
        cls, lambda value: ([getattr(value, n) for n in names], tuple(names)),
        lambda parts, known: cls(**dict(zip(known, parts, strict=True))),
        flatten_with_keys_fn=with_keys,
    )  # fmt: skip


class NodeDef(NamedTuple):
    """How values of a class are taken apart, and put together again."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]


class _Nodes(Mapping[Any, NodeDef]):
    """All classes of containers; the context of one is what a `TreeSpec` is made of."""

    def __getitem__(self, cls: Any) -> NodeDef:
        if cls not in self:
            raise KeyError(cls)

        def unflatten(parts: Iterable[Any], keys: Any) -> Any:
            return container_of(Tree(cls, keys), list(parts))

        return NodeDef(cls, _items_and_keys, unflatten)

    def __contains__(self, cls: object) -> bool:
        return cls in (*_BUILTIN, *CONTAINERS) or is_namedtuple_class(cls)

    def __iter__(self) -> Iterator[Any]:
        return iter((*_BUILTIN, *CONTAINERS))

    def __len__(self) -> int:
        return len(_BUILTIN) + len(CONTAINERS)


def _items_and_keys(tree: Any) -> tuple[list[Any], Any]:
    keys, items = items_of(tree)
    return items or [], keys


_BUILTIN: Final = (tuple, list, dict, OrderedDict)
SUPPORTED_NODES: Final = _Nodes()


def _get_node_type(tree: Any) -> Any:
    return type(tree)


# ---- leaves and forms


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], Tree]:
    """The leaves of nested containers, and their form."""
    return taken_apart(tree, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: Tree) -> Any:
    """Nested containers of a form.

    Raises: ArgumentError if it has more leaves, or fewer.
    """
    if not isinstance(treespec, Tree):
        raise ArgumentTypeError(
            "tree_unflatten", "treespec", was=type(treespec).__name__,
            needed="a form that tree_flatten gave",
        )  # fmt: skip
    values = list(leaves)
    if len(values) != treespec.size:
        raise ArgumentError(
            "tree_unflatten", "leaves", was=f"{len(values)} of them",
            needed=f"{treespec.size}, as the form has",
        )  # fmt: skip
    return put_together(values, treespec)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of nested containers."""
    return taken_apart(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves of nested containers, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> Tree:
    """The form of nested containers."""
    return taken_apart(tree, is_leaf)[1]


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a value is no container."""
    return (is_leaf is not None and is_leaf(tree)) or items_of(tree)[1] is None


# ---- functions of leaves


_is_leaf = tree_is_leaf


def tree_map(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None
) -> Any:
    """Nested containers with `func` of each leaf.

    Args:
        rests: others, of which `func` gets what is in the same places.

    Raises: ArgumentError if one of them has no such place.
    """
    leaves, form = taken_apart(tree, is_leaf)
    others = [_up_to(form, rest) for rest in rests]
    return put_together(_each(func, leaves, *others), form)


def tree_map_(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None
) -> Any:
    """As `tree_map`, for what `func` does to the leaves: the containers themselves."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _each(func: Callable[..., Any], *values: list[Any]) -> list[Any]:
    return [func(*given) for given in zip(*values, strict=True)]


def _up_to(form: Tree, tree: Any) -> list[Any]:
    """What is in the places of a form's leaves."""
    if form.cls is None:
        return [tree]
    keys, items = items_of(tree)
    alike = type(tree) is form.cls or (form.cls in _DICTS and type(tree) in _DICTS)
    if items is None or not alike:
        raise ArgumentError(
            "tree_map", "rests", was=f"a {type(tree).__name__} in some place",
            needed=f"a {form.cls.__name__}, as in the first tree",
        )  # fmt: skip
    if form.cls in _DICTS:
        items = _by_keys(form, tree)
    elif len(items) != len(form.parts) or keys != form.keys:
        raise ArgumentError(
            "tree_map", "rests", was=f"a {type(tree).__name__} of {len(items)}",
            needed=f"one of {len(form.parts)} that is alike, as in the first tree",
        )  # fmt: skip
    parts = zip(form.parts, items, strict=True)
    return [leaf for part, item in parts for leaf in _up_to(part, item)]


def _by_keys(form: Tree, tree: dict[Any, Any]) -> list[Any]:
    """What a dict has for the keys of a form."""
    keys = form.keys[0][1] if form.cls is defaultdict else form.keys
    if set(keys) != set(tree):
        raise ArgumentError(
            "tree_map", "rests", was=f"a dict with the keys {sorted(map(repr, tree))}",
            needed=f"the keys {sorted(map(repr, keys))}, as in the first tree",
        )  # fmt: skip
    return [tree[key] for key in keys]


def _of_type(wanted: Any) -> Callable[[Any], bool]:
    """Whether a leaf is of some types, or one for which a function says yes."""
    if callable(wanted) and not isinstance(wanted, type):
        known: Callable[[Any], bool] = wanted
        return known
    return lambda leaf: isinstance(leaf, wanted)


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any,
    is_leaf: IsLeaf = None,
) -> Any:  # fmt: skip
    """Nested containers with `func` of each leaf of some types."""
    wanted = _of_type(type_or_types_or_pred)
    return tree_map(lambda x: func(x) if wanted(x) else x, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any,
    is_leaf: IsLeaf = None,
) -> Any:  # fmt: skip
    """As `tree_map_only`, for what `func` does to the leaves."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any,
    is_leaf: IsLeaf = None,
) -> bool:  # fmt: skip
    """Whether something holds of all leaves of some types."""
    leaves = tree_leaves(tree, is_leaf)
    return all(pred(x) for x in leaves if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any,
    is_leaf: IsLeaf = None,
) -> bool:  # fmt: skip
    """Whether something holds of a leaf of some types."""
    leaves = tree_leaves(tree, is_leaf)
    return any(pred(x) for x in leaves if isinstance(x, type_or_types))


# ---- paths


@dataclass(frozen=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What is there."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A place in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What is there."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """A place that has a name."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """What is there."""
        return getattr(obj, self.name)


def keystr(kp: tuple[Any, ...]) -> str:
    """A path as text: `['a'][0].b`."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: tuple[Any, ...]) -> Any:
    """What is at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _with_keys(tree: Any) -> list[tuple[Any, Any]] | None:
    """What is in a container, each with its key; None for what is none."""
    cls = type(tree)
    if cls in _WITH_KEYS:
        return list(_WITH_KEYS[cls](tree)[0])
    if cls in _DICTS:
        return [(MappingKey(key), value) for key, value in tree.items()]
    if isinstance(tree, tuple) and hasattr(cls, "_fields"):
        return [(GetAttrKey(name), getattr(tree, name)) for name in cls._fields]
    _, items = items_of(tree)
    return None if items is None else [(SequenceKey(i), x) for i, x in enumerate(items)]


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Any]:
    """Keys and values of a dict, and its keys, for classes that are registered."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Any]:
    """The values of a dict, and its keys, for classes that are registered."""
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Iterable[Any]) -> dict[Any, Any]:
    """A dict of values and keys."""
    return dict(zip(context, values, strict=True))


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[Paths, Tree]:
    """The leaves of nested containers with the paths to them, and the form."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> Paths:
    """The leaves of nested containers, each after the path to it."""
    return list(_paths((), tree, is_leaf))


def _paths(
    above: tuple[Any, ...], tree: Any, is_leaf: IsLeaf
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    within = None if is_leaf is not None and is_leaf(tree) else _with_keys(tree)
    if within is None:
        yield above, tree
        return
    for key, item in within:
        yield from _paths((*above, key), item, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None
) -> Any:
    """Nested containers with `func` of the path to each leaf, and the leaf."""
    found, form = tree_flatten_with_path(tree, is_leaf)
    others = [_up_to(form, rest) for rest in rests]
    paths, leaves = [path for path, _ in found], [leaf for _, leaf in found]
    return put_together(_each(func, paths, leaves, *others), form)


# ---- kinds of tuples


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class is made by `namedtuple`."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_namedtuple_instance(obj: object) -> bool:
    """Whether a value is of a class made by `namedtuple`."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether it is a class made by `namedtuple`, or a value of one."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def _broadcast_to_and_flatten(
    tree: Any, treespec: Tree, is_leaf: IsLeaf = None
) -> list[Any] | None:
    """One leaf for each of a form's, those above several for all; None if none fits."""
    keys, items = items_of(tree)
    if items is None or (is_leaf is not None and is_leaf(tree)):
        return [tree] * treespec.size
    fits = (type(tree), keys, len(items)) == (
        treespec.cls, treespec.keys, len(treespec.parts)
    )  # fmt: skip
    if not fits:
        return None
    found: list[Any] = []
    for item, part in zip(items, treespec.parts, strict=True):
        inner = _broadcast_to_and_flatten(item, part, is_leaf)
        if inner is None:
            return None
        found += inner
    return found
