"""`torch.utils._pytree` of programs written for PyTorch: laws of drawn trees."""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dt
from dovetail.func.trees import CONTAINERS
from dovetail.torch_names import trees


class Point(NamedTuple):
    """Two items with names."""

    x: Any
    y: Any


class Bag:
    """A class that knows nothing of trees."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *items: Any, label: str = "") -> None:
        self.items, self.label = items, label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bag) and vars(self) == vars(other)


@dataclass
class Pair:
    """A dataclass."""

    a: Any
    b: Any
    label: str = "of two"


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    trees.register_pytree_node(
        Bag, lambda bag: (bag.items, bag.label),
        lambda items, label: Bag(*items, label=label),
    )  # fmt: skip
    trees.register_dataclass(Pair, drop_field_names=["label"])
    yield
    for cls in (Bag, Pair):
        del CONTAINERS[cls]


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, max_size=3)
    named = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    return st.one_of(
        several, several.map(tuple), named, named.map(OrderedDict),
        named.map(lambda d: defaultdict(list, d)), several.map(lambda x: deque(x, 5)),
        st.builds(Point, inner, inner), st.builds(Pair, inner, inner),
        st.builds(lambda x, s: Bag(*x, label=s), several, st.sampled_from("pq")),
    )  # fmt: skip


TREES = st.recursive(st.integers() | st.none(), _containers, max_leaves=12)


@given(TREES)
def test_trees_are_put_together_as_they_were(tree: Any) -> None:
    """Leaves, form, paths and counts agree with each other."""
    leaves, form = trees.tree_flatten(tree)
    assert trees.tree_unflatten(leaves, form) == tree
    again = trees.tree_structure(tree)
    assert form == again
    assert hash(form) == hash(again)
    below = sum(child.num_leaves for child in form.children())
    assert form.num_leaves == len(leaves)
    assert form.is_leaf() or below == len(leaves)
    assert list(trees.tree_iter(tree)) == leaves == trees._up_to(form, tree)


@given(TREES)
def test_what_is_said_to_be_a_leaf_is_one(tree: Any) -> None:
    """A container that is chosen is not looked into."""
    marked = trees.tree_map(lambda leaf: Point(leaf, "seen"), tree)
    found = trees.tree_leaves(marked, is_leaf=lambda x: isinstance(x, Point))
    whole = trees.tree_leaves(tree)
    if not any(isinstance(x, Point) for x in _containers_of(tree)):
        assert found == [Point(leaf, "seen") for leaf in whole]


@given(TREES)
def test_paths_lead_to_leaves(tree: Any) -> None:
    """Each path that containers of Python's have is one that Python takes, too."""
    tree = trees.tree_map(lambda leaf: leaf, tree)
    found = trees.tree_leaves_with_path(tree)
    assert [leaf for _, leaf in found] == trees.tree_leaves(tree)
    for path, leaf in found:
        at = tree
        for key in path:
            at = at.items[key.idx] if isinstance(at, Bag) else key.get(at)
        assert at is leaf
        if not any("Bag" in type(x).__name__ for x in _containers_of(tree)):
            assert eval("tree" + trees.keystr(path)) is leaf
            assert trees.key_get(tree, path) is leaf


def _containers_of(tree: Any) -> list[Any]:
    if trees.tree_is_leaf(tree):
        return []
    below = [item for _, item in trees._with_keys(tree) or ()]
    return [tree, *(x for item in below for x in _containers_of(item))]


@given(TREES, TREES)
def test_two_trees_are_walked_together_or_refused(one: Any, other: Any) -> None:
    """They are where the first fits into the second, and both give all they have."""
    seen: list[Any] = []
    try:
        got = trees.tree_map(lambda a, b: seen.append((a, b)), one, other)
    except ValueError:
        assert trees.tree_structure(other) != trees.tree_structure(one)
        return
    assert [a for a, _ in seen] == trees.tree_leaves(one)
    assert trees.tree_structure(got) == trees.tree_structure(one)
    assert [x for _, b in seen for x in trees.tree_leaves(b)] == trees.tree_leaves(
        trees.tree_map(lambda _, b: b, one, other)
    )


def test_keys_of_dicts_are_matched_by_name() -> None:
    """Whatever order they were written in."""
    pairs = trees.tree_map(
        lambda a, b: (a, b), {"x": 1, "y": [2]}, {"y": [5], "x": [7, 8]}
    )
    assert pairs == {"x": (1, [7, 8]), "y": [(2, 5)]}


def test_some_types_alone() -> None:
    """Others are left as they are; predicates may choose."""
    tree = [1, "a", {"b": 2.0}]
    assert trees.tree_map_only(int, lambda x: -x, tree) == [-1, "a", {"b": 2.0}]
    assert trees.tree_map_only((int, float), str, tree) == ["1", "a", {"b": "2.0"}]
    assert trees.tree_map_only(lambda x: x == "a", str.upper, tree)[1] == "A"
    assert trees.tree_all_only(int, lambda x: x == 1, tree)
    assert not trees.tree_any_only(float, lambda x: x == 1, tree)
    assert trees.tree_all(bool, tree)
    assert not trees.tree_any(lambda x: x == 3, tree)
    seen: list[Any] = []
    assert trees.tree_map_only_(str, seen.append, tree) is tree
    assert seen == ["a"]


def test_registered_classes_are_containers_of_transforms() -> None:
    """`vmap` and `grad` see into them."""
    bag = Bag(dt.arange(3.0), dt.ones(3), label="kept")
    out = dt.func.vmap(lambda b: Bag(b.items[0] * 2, label=b.label))(bag)
    assert out.label == "kept"
    assert out.items[0].tolist() == [0, 2, 4]
    grads = dt.func.grad(lambda b: (b.items[0] * b.items[1]).sum())(bag)
    assert isinstance(grads, Bag)
    assert grads.items[1].tolist() == [0, 1, 2]


def test_what_is_refused() -> None:
    """A class that is registered, leaves that do not fit, trees that differ."""
    for cls in (list, Bag, dict):
        with pytest.raises(ValueError, match="registered"):
            trees.register_pytree_node(cls, lambda x: ((), None), lambda x, _: x)
    form = trees.tree_structure([1, (2, 3)])
    with pytest.raises(ValueError, match="3"):
        trees.tree_unflatten([1], form)
    for other in ([1], (1, (2, 3)), [1, [2, 3]], [1, (2,)], 5):
        with pytest.raises(ValueError, match="as in the first"):
            trees.tree_map(lambda a, b: a, [1, (2, 3)], other)
    with pytest.raises(ValueError, match="keys"):
        trees.tree_map(lambda a, b: a, {"a": 1}, {"b": 1})


def test_one_value_for_many() -> None:
    """A value stands for all below its place."""
    form = trees.tree_structure([1, {"a": (2, 3)}])
    assert trees._broadcast_to_and_flatten(0, form) == [0, 0, 0]
    assert trees._broadcast_to_and_flatten([0, 1], form) == [0, 1, 1]
    assert trees._broadcast_to_and_flatten([0, {"a": (1, 2)}], form) == [0, 1, 2]
    assert trees._broadcast_to_and_flatten([0], form) is None


@given(TREES)
def test_containers_are_taken_apart_step_by_step(tree: Any) -> None:
    """By what is known of their classes, into forms that programs make themselves."""

    def apart(value: Any) -> tuple[list[Any], Any]:
        cls = trees._get_node_type(value)
        if cls not in trees.SUPPORTED_NODES:
            return [value], trees.LeafSpec()
        items, context = trees.SUPPORTED_NODES[cls].flatten_fn(value)
        again = trees.SUPPORTED_NODES[cls].unflatten_fn(items, context)
        assert again == value
        below = [apart(item) for item in items]
        leaves = [leaf for found, _ in below for leaf in found]
        return leaves, trees.TreeSpec(cls, context, [form for _, form in below])

    leaves, form = apart(tree)
    assert leaves == trees.tree_leaves(tree)
    assert trees.tree_unflatten(leaves, form) == tree
