"""`Node`: one step of a graph, and what its arguments are made of."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from dovetail.errors import ArgumentError

from .immutable_collections import immutable_dict, immutable_list
from .public_names import qualified_name, type_text

if TYPE_CHECKING:
    from .graph import Graph

Argument = Any
Target = Callable[..., Any] | str
KINDS: Final = (
    "placeholder", "get_attr", "call_function", "call_module", "call_method", "output",
    "root",
)  # fmt: skip
_IMPURE: Final[set[Any]] = set()


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Say that calls of a function are kept though nothing uses their result."""
    _IMPURE.add(fn)
    return fn


def map_arg(a: Argument, fn: Callable[[Node], Any]) -> Any:
    """Arguments in which each node is `fn` of it."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Argument, fn: Callable[[Any], Any]) -> Any:
    """Arguments in which whatever is no container is `fn` of it."""
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict((k, map_aggregate(v, fn)) for k, v in a.items())
    if isinstance(a, slice):
        ends = (a.start, a.stop, a.step)
        return slice(*(map_aggregate(end, fn) for end in ends))
    return fn(a)


class Node:
    """One step of a graph, and a place in its order.

    Attributes:
        op: what it does: `placeholder`, `get_attr`, `call_function`, `call_module`,
            `call_method` or `output`.
        target: what is called or asked for.
        users: the nodes that take its result, as the keys of a dict, in order.
        meta: whatever passes note of it.
    """

    def __init__(
        self, graph: Graph, name: str, op: str, target: Target,
        args: tuple[Argument, ...], kwargs: dict[str, Argument],
        return_type: Any = None,
    ) -> None:  # fmt: skip
        if op not in KINDS:
            raise ArgumentError("fx.Node", "op", was=repr(op), needed=", ".join(KINDS))
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{type(target)} but a Callable is expected"
            )
        if op not in ("call_function", "root") and not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{type(target)} but a str is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._take(args, kwargs)

    # ---- its place

    @property
    def next(self) -> Node:
        """The step after it."""
        return self._next

    @property
    def prev(self) -> Node:
        """The step before it."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of the same graph before this one."""
        if x.graph is not self.graph:
            raise ArgumentError(
                "fx.Node.prepend", "x", was="of another graph", needed="one of its own",
                remedy="copy it there: graph.node_copy(x)",
            )  # fmt: skip
        if x is self:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move a node of the same graph after this one."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        before, after = self._prev, self._next
        before._next, after._prev = after, before
        self._prev = self._next = self

    def _place(self) -> int:
        for place, node in enumerate(self.graph.nodes):
            if node is self:
                return place
        return -1

    def __lt__(self, other: Node) -> bool:
        return self._place() < other._place()

    def __gt__(self, other: Node) -> bool:
        return self._place() > other._place()

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # ---- its arguments

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments: nodes, numbers, and containers of these."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._take(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The named arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._take(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among its arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Put another argument at a place."""
        self.args = (*self.args[:idx], arg, *self.args[idx + 1 :])

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put an argument before a place."""
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Put another argument by a name."""
        self.kwargs = {**self.kwargs, key: arg}

    def _take(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}
        self._args = map_arg(tuple(args), self._use)
        self._kwargs = map_arg(dict(kwargs), self._use)

    def _use(self, node: Node) -> Node:
        self._input_nodes.setdefault(node)
        node.users.setdefault(self)
        return node

    def replace_all_uses_with(
        self, replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *, propagate_meta: bool = False,
    ) -> list[Node]:  # fmt: skip
        """Let all that use this node use another one.

        Args:
            delete_user_cb: whether a user is to be changed.
            propagate_meta: whether the other node, which must have none, gets `meta`.

        Returns: the nodes that were changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise ArgumentError(
                    "fx.Node.replace_all_uses_with", "replace_with",
                    was="a node that has meta", needed="a node without",
                )  # fmt: skip
            replace_with.meta.update(self.meta)
        changed = []
        for user in list(self.users):
            if delete_user_cb(user):
                user.replace_input_with(self, replace_with)
                changed.append(user)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take another node wherever this one takes `old_input`."""

        def other(node: Node) -> Node:
            return new_input if node is old_input else node

        self._take(map_arg(self.args, other), map_arg(self.kwargs, other))

    # ---- what it is

    @property
    def stack_trace(self) -> str | None:
        """Where the program called it, if the tracer noted that."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the step matters though nothing uses its result."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            inplace = name.endswith("_") and not name.endswith("__")
            changes = self.target in _IMPURE or inplace or name == "_assert"
            return changes or self.target is operator.setitem
        if self.op == "call_method":
            return str(self.target).endswith("_")
        owner = self.graph.owning_module
        if self.op == "call_module" and owner is not None:
            called = owner.get_submodule(str(self.target))
            return bool(getattr(called, "_is_impure", False))
        return False

    def format_node(
        self, placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
    ) -> str | None:  # fmt: skip
        """The step as a line of the graph's text."""
        typed = "" if self.type is None else f"{type_text(self.type)} "
        head = f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target}")
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{head}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{head}[target={self.target}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        named = ", ".join(f"{k}: {shown(v)}" for k, v in self.kwargs.items())
        args = f"args = {shown(self.args)}, kwargs = {{{named}}}"
        return f"{head}[target={self._target_text()}]({args})"

    def _target_text(self) -> str:
        return (
            self.target if isinstance(self.target, str) else qualified_name(self.target)
        )

    def __repr__(self) -> str:
        return self.name if self._repr_fn is None else self._repr_fn(self)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("'Node' object is not iterable")


def shown(value: Argument) -> str:
    """Arguments as the graph's text has them, nodes with a `%`."""
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, tuple):
        inner = ", ".join(map(shown, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {shown(v)}" for k, v in value.items()) + "}"
    return str(value)
