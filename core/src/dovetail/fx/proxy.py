"""`Proxy`: what stands for values while a function is traced."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from dovetail.engine.tensor import Tensor

from .node import Node, map_aggregate
from .operators import MAGIC, REFLECTABLE
from .public_names import public_place
from .tracer_base import GraphAppendingTracer, TraceError, TracerBase


class Proxy:
    """A value of a function that is traced: what is done with it becomes steps.

    Args:
        node: the step whose result it stands for.
        tracer: what writes steps; one that only appends to the node's graph, if None.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = tracer or GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        if k.startswith("__") and k.endswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no {k!r}")
        return self.tracer.attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy(
            "call_method", "__call__", (self, *args), kwargs
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        return self

    def __iter__(self) -> Iterator[Any]:
        count = _unpacked(sys._getframe(1))
        if count is not None:  # `a, b = proxy`
            return iter([self[i] for i in range(count)])
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """What `**proxy` asks for."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this "
            "call to be recorded, please call torch.fx.wrap('len') at module scope"
        )

    __hash__ = object.__hash__
    __getitem__: Callable[..., Any]

    @classmethod
    def __torch_function__(
        cls, orig_method: Callable[..., Any], types: Any, args: Any = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        kwargs = kwargs or {}
        tracers: dict[Any, None] = {}

        def note(value: Any) -> Any:
            if isinstance(value, cls):
                tracers[value.tracer] = None
            return value

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to "
                f"trace operations {orig_method}"
            )
        tracer = next(iter(tracers))
        name = getattr(orig_method, "__name__", "")
        if (
            getattr(Tensor, name, None) is orig_method
            and public_place(orig_method) is None
        ):
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy(
            "call_function", orig_method, args, kwargs,
            name=tracer.graph._target_to_str(name),
        )  # fmt: skip


class Attribute(Proxy):
    """An attribute of a proxy, which becomes a step unless it is only called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The step, made when it is first asked for."""
        if self._node is None:
            args = (self.root, self.attr)
            made = self.tracer.create_proxy("call_function", getattr, args, {})
            self._node = made.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy(
            "call_method", self.attr, (self.root, *args), kwargs
        )


def _unpacked(frame: Any) -> int | None:
    """How many values a frame unpacks a value into, None if it does not."""
    for step in dis.get_instructions(frame.f_code):
        if step.offset == frame.f_lasti:
            return step.argval if step.opname == "UNPACK_SEQUENCE" else None
    return None


_METHODS: Final = {name: f"__{name.strip('_')}__" for name in MAGIC}


def _operator(name: str) -> Callable[..., Any]:
    target = getattr(operator, name)

    def method(*args: Any, **kwargs: Any) -> Any:
        return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    method.__name__ = method.__qualname__ = _METHODS[name]
    return method


def _reflected(name: str) -> Callable[..., Any]:
    target = getattr(operator, name)

    def method(self: Proxy, rhs: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, (rhs, self), {})

    method.__name__ = method.__qualname__ = f"__r{name.strip('_')}__"
    return method


for _name in MAGIC:
    setattr(Proxy, _METHODS[_name], _operator(_name))
for _name in REFLECTABLE:
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected(_name))

TracerBase.proxy_class = Proxy
TracerBase.attribute_class = Attribute

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]
