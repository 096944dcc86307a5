"""`torch.utils._pytree`: nested containers, and functions of what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from dovetail.func.trees import Tree, put_together, taken_apart


def tree_flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of nested containers, and their form."""
    return taken_apart(tree)


def tree_unflatten(leaves: Iterable[Any], treespec: Any) -> Any:
    """Nested containers of a form."""
    return put_together(list(leaves), treespec)


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any) -> Any:
    """Nested containers with `func` of each leaf."""
    leaves, form = taken_apart(tree)
    others = [taken_apart(rest)[0] for rest in rests]
    return put_together(list(map(func, leaves, *others)), form)


def tree_structure(tree: Any) -> Any:
    """The form of nested containers."""
    return taken_apart(tree)[1]


def tree_map_only(kinds: Any, func: Callable[..., Any], tree: Any) -> Any:
    """Nested containers with `func` of each leaf of some types."""
    return tree_map(lambda x: func(x) if isinstance(x, kinds) else x, tree)


def tree_all(pred: Callable[[Any], bool], tree: Any) -> bool:
    """Whether something holds of all leaves."""
    return all(map(pred, tree_leaves(tree)))


def tree_any(pred: Callable[[Any], bool], tree: Any) -> bool:
    """Whether something holds of a leaf."""
    return any(map(pred, tree_leaves(tree)))


TreeSpec: Final = Tree
PyTree: Final = Any


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves of nested containers."""
    return taken_apart(tree)[0]
