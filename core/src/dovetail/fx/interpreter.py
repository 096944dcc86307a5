"""`Interpreter` and `Transformer`: graphs run step by step, and made into others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.nn import Module

from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import Proxy

_Args = tuple[Argument, ...]
_Named = dict[str, Any]


class Interpreter:
    """Runs a graph step by step; classes below it do other things at some.

    Args:
        module: what has the modules that the graph calls.
        garbage_collect_values: whether a result is let go after its last use.
        graph: the steps, if not those of the module.

    Attributes:
        env: results by node, while it runs.
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True,
        graph: Graph | None = None,
    ) -> None:  # fmt: skip
        self.module = module
        self.graph: Graph = graph if graph is not None else module.graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.extra_traceback = True
        self.garbage_collect_values = garbage_collect_values
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for user in reversed(self.graph.nodes) if garbage_collect_values else ():
            for node in user.all_input_nodes:
                if node not in seen:
                    seen.add(node)
                    self.user_to_last_uses.setdefault(user, []).append(node)

    def run(
        self, *args: Any, initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:  # fmt: skip
        """What the graph returns.

        Args:
            initial_env: results that are there already.
            enable_io_processing: whether arguments are those of the code, not the
                inputs of the graph.
        """
        self.env = dict(initial_env or {})
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    error.add_note(f"While executing {node.format_node()}")
                raise
            for used in self.user_to_last_uses.get(node, ()):
                self.env.pop(used, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result)
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """The same of a list of inputs, which is emptied."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args, enable_io_processing=False)

    def run_node(self, n: Node) -> Any:
        """The result of one step."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    # ---- kinds of steps

    def placeholder(self, target: Target, args: _Args, kwargs: _Named) -> Any:
        """The next input, or its default."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not "
                "passed in!"
            ) from None

    def get_attr(self, target: Target, args: _Args, kwargs: _Named) -> Any:
        """What the module has by a dotted name."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: _Args, kwargs: _Named) -> Any:
        """What a function gives."""
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: _Args, kwargs: _Named) -> Any:
        """What a method of the first argument gives."""
        self_obj, *rest = args
        return getattr(self_obj, str(target))(*rest, **kwargs)

    def call_module(self, target: Target, args: _Args, kwargs: _Named) -> Any:
        """What a module below gives."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: _Args, kwargs: _Named) -> Any:
        """What is returned."""
        return args[0]

    # ---- arguments

    def fetch_attr(self, target: str) -> Any:
        """What the module has by a dotted name.

        Raises: RuntimeError if it has nothing.
        """
        found: Any = self.module
        for part in target.split("."):
            if not hasattr(found, part):
                raise RuntimeError(
                    f"Node referenced nonexistent target {target}: there is no {part}"
                )
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """The arguments of a step, with results for nodes."""
        args = self.map_nodes_to_values(n.args, n)
        kwargs = self.map_nodes_to_values(n.kwargs, n)
        return args, kwargs

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """Arguments with results for nodes.

        Raises: RuntimeError for a node that has not run.
        """

        def value(used: Node) -> Any:
            if used not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {used}! Run Graph.lint() "
                    "to diagnose such issues"
                )
            return self.env[used]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Runs a graph with proxies, so that another one is written.

    Args:
        module: what is transformed, which stays as it is.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _Writes(self.new_graph, module)

    def placeholder(self, target: Target, args: _Args, kwargs: _Named) -> Any:
        """A proxy for an input of the new graph."""
        default = args[0] if args else ...
        node = self.new_graph.placeholder(str(target), default_value=default)
        return Proxy(node, self.tracer)

    def get_attr(self, target: Target, args: _Args, kwargs: _Named) -> Any:
        """A proxy for what the module has."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: _Args, kwargs: _Named) -> Any:
        """A step that calls the module."""
        if not isinstance(target, str):
            raise AssertionError(f"Expected str target, got {type(target)}")
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: _Args, kwargs: _Named) -> Any:
        """A step that calls the function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module that runs the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(
                map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a)
            )
        return GraphModule(self.module, self.new_graph)


class _Writes(Tracer):
    """Writes into a graph, for a module that is known."""

    def __init__(self, graph: Graph, module: Module) -> None:
        super().__init__()
        self.graph, self.root = graph, module

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Every module is a step, as it was before."""
        return True
