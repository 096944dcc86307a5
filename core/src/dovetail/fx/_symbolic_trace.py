"""`symbolic_trace`: a function run with proxies, which write down what it does."""

from __future__ import annotations

import builtins
import inspect
import math
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from dovetail.engine.tensor import Tensor
from dovetail.nn import Module, Parameter, Sequential

from .concrete import called_with, given, proxies_of
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node
from .patching import Patcher
from .proxy import Proxy
from .tracer_base import TracerBase

_tracing: Final[list[Any]] = []
# Names of functions that are steps of their own, by the globals that have them.
_wrapped: Final[dict[tuple[int, str], dict[str, Any]]] = {}


def is_fx_tracing() -> bool:
    """Whether a function is being traced."""
    return bool(_tracing)


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Let calls of a function be steps of their own, not what it does inside.

    It is called, or decorates, at the top of the module that has the function.

    Raises: NotImplementedError elsewhere.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or "
            "string name"
        )
    named = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(frame.f_globals), named] = frame.f_globals
    return fn_or_name


class Tracer(TracerBase):
    """Traces functions and modules; classes below it decide what is a step.

    Args:
        autowrap_modules: modules of Python whose functions are steps of their own.
        autowrap_functions: functions that are, wherever the traced code has them.
        param_shapes_constant: whether shapes of parameters are asked for at once.
    """

    def __init__(
        self, autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self._autowrap_function_ids = {
            id(value) for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}  # fmt: skip
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Any, str] | None = None
        self.root: Any = None
        self.tensor_attrs: dict[Any, str] = {}
        self.module_stack: dict[str, Any] = {}

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        """Put a step in, which notes the modules that were being called."""
        node = super().create_node(*args, **kwargs)
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    # ---- what classes below decide

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a module is a step: of layers, but for Sequential."""
        room = type(m).__module__
        of_ours = room.startswith(("dovetail.nn", "torch.nn"))
        return of_ours and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The dotted name of a module below the root.

        Raises: NameError if it is not there.
        """
        for path, module in self.root.named_modules():
            if module is mod:
                return str(path)
        raise NameError("module is not installed as a submodule")

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        """What a call of a module gives: a step, or what its forward does."""
        path = self.path_of_module(m)
        if not self.is_leaf_module(m, path):
            return forward(*args, **kwargs)
        return self.create_proxy("call_module", path, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Any) -> Any:
        """What an attribute of a module gives: a proxy for parameters and buffers."""
        tables: list[Any] = [(Parameter, self.root.named_parameters())]
        if isinstance(attr_val, Tensor):
            tables.append((Tensor, self.root.named_buffers()))
        for kind, table in tables:
            if not isinstance(attr_val, kind):
                continue
            for name, value in table:
                if value is attr_val:
                    if name not in parameter_proxy_cache:
                        made = self.create_proxy("get_attr", name, (), {})
                        parameter_proxy_cache[name] = made
                    return parameter_proxy_cache[name]
        return attr_val

    # ---- arguments

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that the root has nothing by."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_arg(self, a: Any) -> Argument:
        """A value as an argument: tensors and modules by what the root calls them."""
        if isinstance(a, Parameter):
            for name, value in self.root.named_parameters():
                if value is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, value in self.root.named_buffers():
                if value is a:
                    return self.create_node("get_attr", name, (), {})
            if a not in self.tensor_attrs:
                path = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[a] = path
                setattr(self.root, path, a)
            return self.create_node("get_attr", self.tensor_attrs[a], (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return super().create_arg(a)

    # ---- tracing

    def trace(
        self, root: Module | Callable[..., Any],
        concrete_args: dict[str, Any] | None = None,
    ) -> Graph:  # fmt: skip
        """The graph of what a module's forward, or a function, does.

        Args:
            concrete_args: values that are not traced, by parameters' names.
        """
        self.root = root if isinstance(root, Module) else Module()
        function: Any = root
        if isinstance(root, Module):
            forward = getattr(type(root), getattr(self, "traced_func_name", "forward"))
            function = forward
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        for path, module in self.root.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, Tensor):
                    self.tensor_attrs[value] = f"{path}.{name}" if path else name
        called, args = self.create_args_for_root(
            function, isinstance(root, Module), concrete_args
        )
        _tracing.append(self)
        try:
            with self._patches(function):
                result = called(*args)
                self.create_node(
                    "output", "output", (self.create_arg(result),), {},
                    type_expr=getattr(function, "__annotations__", {}).get("return"),
                )  # fmt: skip
        finally:
            _tracing.pop()
        return self.graph

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool,
        concrete_args: dict[str, Any] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:  # fmt: skip
        """The function as it is called, and what it is called with."""
        own = [self.root] if is_module else []
        if inspect.ismethod(root_fn):
            own, root_fn = [root_fn.__self__], root_fn.__func__
        parameters = list(inspect.signature(root_fn).parameters.values())[len(own) :]
        fixed = given(parameters, concrete_args)
        values, self.graph._codegen.form = proxies_of(self, parameters, fixed)
        return called_with(root_fn, parameters, values), own

    def _patches(self, function: Any) -> Patcher:
        """What is different while a function is traced."""
        cache: dict[str, Any] = {}
        patcher = Patcher()
        plain_call, plain_get = Module.__call__, Module.__getattr__

        def call(mod: Any, *args: Any, **kwargs: Any) -> Any:
            for space in _spaces(getattr(mod, "forward", None)):
                self._autowrap(patcher, space)
            path = self._noted(mod)
            try:
                return self.call_module(
                    mod, lambda *a, **k: plain_call(mod, *a, **k), args, kwargs
                )
            finally:
                self.module_stack.pop(path, None)

        def get(mod: Any, attr: str) -> Any:
            return self.getattr(attr, plain_get(mod, attr), cache)

        patcher.attribute(Module, "__call__", call)
        patcher.attribute(Module, "__getattr__", get)
        for (_, name), space in list(_wrapped.items()):
            if name in space or hasattr(builtins, name):
                original: Any = space.get(name, getattr(builtins, name, None))
                patcher.entry(space, name, _step_of(original))
        for module in self._autowrap_search:
            self._autowrap(patcher, vars(module))
        for space in _spaces(function):
            self._autowrap(patcher, space)
        return patcher

    def _noted(self, mod: Any) -> str:
        """The path of a module, which is among those that are being called."""
        path = next((p for p, m in self.root.named_modules() if m is mod), "")
        if path:
            self.module_stack[path] = (path, type(mod))
        return path

    def _autowrap(self, patcher: Patcher, space: dict[str, Any]) -> None:
        if patcher.visited(space):
            return
        for name, value in list(space.items()):
            if not name.startswith("_") and id(value) in self._autowrap_function_ids:
                patcher.entry(space, name, _step_of(value))


def _spaces(function: Any) -> list[dict[str, Any]]:
    found = getattr(function, "__globals__", None)
    return [found] if isinstance(found, dict) else []


def _step_of(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is a step of its own where it is given proxies."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _first_proxy([*args, *kwargs.values()])
        if proxy is None:
            return original(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", original, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    wrapped.__name__ = getattr(original, "__name__", "wrapped")
    return wrapped


def _first_proxy(values: Any) -> Proxy | None:
    for value in values:
        if isinstance(value, Proxy):
            return value
        if isinstance(value, list | tuple | dict):
            inner = value.values() if isinstance(value, dict) else value
            found = _first_proxy(inner)
            if found is not None:
                return found
    return None


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """A module that does what a module or function does, as a graph.

    Args:
        concrete_args: values that are not traced, by parameters' names; `fx.PH` in
            them stands for what is.

    Raises: TraceError where what is done depends on a value.

    Examples:
        >>> from dovetail import fx
        >>> traced = fx.symbolic_trace(lambda x: (x + 1).relu())
        >>> print(traced.code.strip())
        def forward(self, x):
            add = x + 1;  x = None
            relu = add.relu();  add = None
            return relu
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    is_module = isinstance(root, Module)
    name = type(root).__name__ if is_module else root.__name__
    return GraphModule(tracer.root, graph, name)
