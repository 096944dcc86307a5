"""What writes steps while a function is traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final, NoReturn

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.errors import NotSupported
from dovetail.memory_formats import layout, memory_format

from .graph import Graph
from .immutable_collections import immutable_dict
from .node import Argument, Node, Target


class TraceError(ValueError):
    """A traced function asked for what only a value can tell."""


BASE_TYPES: Final = (
    str, int, float, bool, complex, type(None), type(...), range, Enum, DType, device,
    Tensor, layout, memory_format,
)  # fmt: skip


class TracerBase:
    """Writes steps into a graph, and gives proxies for their results.

    Attributes:
        graph: where steps are put in.
        trace_asserts: kept for tracers that set it; an assert asks for a truth value.
        proxy_class: what stands for results.
        attribute_class: what stands for their attributes.
    """

    graph: Graph
    trace_asserts: bool = False
    proxy_class: Any
    attribute_class: Any

    def create_node(
        self, kind: str, target: Target, args: tuple[Argument, ...],
        kwargs: dict[str, Argument], name: str | None = None, type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Put a step in; classes below may change or note what is put in."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Any:
        """What stands for the result of a step."""
        return self.proxy_class(node, self)

    def attribute(self, obj: Any, name: str) -> Any:
        """What stands for an attribute of what a proxy stands for."""
        return self.attribute_class(obj, name)

    def create_proxy(
        self, kind: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any],
        name: str | None = None, type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Any] | None = None,
    ) -> Any:  # fmt: skip
        """Put a step in whose arguments may hold proxies."""
        own, named = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, own, named, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """A value as an argument of a node.

        Raises: NotSupported where a graph could not hold it.
        """
        if isinstance(a, self.proxy_class):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return immutable_dict(
                (self._key(k), self.create_arg(v)) for k, v in a.items()
            )
        if isinstance(a, slice):
            return slice(*map(self.create_arg, (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*map(self.create_arg, (a.start, a.stop, a.step)))
        if is_dataclass(a) and not isinstance(a, type):
            held = {f.name: self.create_arg(getattr(a, f.name)) for f in fields(a)}
            return self.create_node("call_function", type(a), (), held)
        if isinstance(a, (*BASE_TYPES, Node)) or callable(a):
            return a
        raise NotSupported(
            "fx", "argument", was=f"of type {type(a).__name__}",
            needed="a tensor, a number, a text or a container of these",
            remedy="compute it in a function, and give that to fx.wrap",
        )  # fmt: skip

    def _key(self, key: Any) -> Any:
        if isinstance(key, self.proxy_class):
            raise RuntimeError(
                "Keys for dictionaries used as an argument cannot contain a Node. "
                f"Got key: {key}"
            )
        return key

    # ---- what only a value can tell

    def to_bool(self, obj: Any) -> bool:
        """Raise TraceError: what is done next would depend on a value."""
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow"
        )

    def iter(self, obj: Any) -> Iterator[Any]:
        """Raise TraceError: how often a loop runs would depend on a value."""
        _refuse_iteration()

    def keys(self, obj: Any) -> Any:
        """What stands for the keys of a dict."""
        return self.attribute_class(obj, "keys")()


def _refuse_iteration() -> NoReturn:
    raise TraceError(
        "Proxy object cannot be iterated. This can be attempted when the Proxy is used "
        "in a loop or as a *args or **kwargs function argument; its length is unknown "
        "while it is traced: loop over range() of a number, or wrap the function"
    )


class GraphAppendingTracer(TracerBase):
    """Puts steps into a graph that is there already."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
