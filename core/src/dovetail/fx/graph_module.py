"""`GraphModule`: a module whose forward is the code of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
from typing import Any, Final

from dovetail.engine import return_types
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentTypeError
from dovetail.nn import Module

from .graph import Graph
from .graph_code import PythonCode

_counted: Final = itertools.count()


def _compiled(code: PythonCode) -> Any:
    """The function that code defines; tracebacks show its lines."""
    name = f"<dovetail.fx.{next(_counted)}>"
    lines = code.src.splitlines(True)
    linecache.cache[name] = (len(code.src), None, lines, name)
    space = dict(code.globals)
    exec(compile(code.src, name, "exec"), space)  # the graph's own code
    return space["forward"]


def _copy_attr(from_module: Any, to_module: Any, target: str) -> None:
    """Give a module what another one has by a dotted name."""
    *path, name = target.split(".")
    for part in path:
        from_module = getattr(from_module, part)
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    value = getattr(from_module, name)
    _assign(to_module, name, value)


def _assign(module: Any, name: str, value: Any) -> None:
    plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    if plain and (name in module._buffers or not hasattr(module, name)):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


class GraphModule(Module):
    """A module that runs a graph.

    Args:
        root: what has the modules and tensors that the graph asks for; or a dict of
            them by their dotted names.
        graph: the steps.
        class_name: what the module calls itself.

    Attributes:
        meta: whatever passes note of it.
    """

    def __new__(cls, *_args: Any, **_options: Any) -> GraphModule:
        """An object of a class of its own, which gets its own forward."""
        base = next(c for c in cls.__mro__ if not c.__dict__.get("_of_one_graph"))
        made = type(cls.__name__, (base,), {"_of_one_graph": True})
        made.__module__, made.__qualname__ = base.__module__, base.__qualname__
        return object.__new__(made)

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph,
        class_name: str = "GraphModule",
    ) -> None:  # fmt: skip
        super().__init__()
        type(self).__name__ = class_name
        self._class_name = class_name
        if isinstance(root, Module):
            self.training = root.training
        elif not isinstance(root, dict):
            raise ArgumentTypeError(
                "fx.GraphModule", "root", was=type(root).__name__,
                needed="a Module or a dict of attributes",
            )  # fmt: skip
        self._take_attributes(root, graph)
        self.meta: dict[str, Any] = {}
        self.graph = graph

    def _take_attributes(self, root: Any, graph: Graph) -> None:
        """Have what the graph asks for."""
        targets = dict.fromkeys(
            str(n.target) for n in graph.nodes if n.op in ("get_attr", "call_module")
        )
        if isinstance(root, Module):
            for target in targets:
                _copy_attr(root, self, target)
            return
        for target in sorted(targets, key=lambda t: t.count(".")):
            if target not in root:
                raise RuntimeError(
                    f"Node referenced target {target} but that target was not provided "
                    "in `root`!"
                )
            *path, name = target.split(".")
            owner: Any = self
            for part in path:
                if not hasattr(owner, part):
                    setattr(owner, part, Module())
                owner = getattr(owner, part)
            _assign(owner, name, root[target])

    @property
    def graph(self) -> Graph:
        """The steps; after a change, `recompile` writes the code anew."""
        graph: Graph = self.__dict__["_graph"]
        return graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "graph":
            type(self).graph.fset(self, value)  # type: ignore[attr-defined]
        else:
            super().__setattr__(name, value)

    @property
    def code(self) -> str:
        """The text of forward."""
        code: str = self.__dict__["_code"]
        return code

    def recompile(self) -> PythonCode:
        """Write forward anew, of the graph as it is now."""
        code = self.graph.python_code(root_module="self")
        self.__dict__["_code"] = code.src
        type(self).forward = _compiled(code)
        return code

    # ---- what is below it

    def add_submodule(self, target: str, m: Module) -> bool:
        """Have a module by a dotted name; whether there was room for it."""
        *path, name = target.split(".")
        owner: Any = self
        for part in path:
            if not hasattr(owner, part):
                setattr(owner, part, Module())
            owner = getattr(owner, part)
            if not isinstance(owner, Module):
                return False
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take a module out; whether it was there."""
        *path, name = target.split(".")
        owner: Any = self
        for part in path:
            owner = getattr(owner, part, None)
        if not isinstance(owner, Module) or not isinstance(
            getattr(owner, name, None), Module
        ):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take out the modules that no step asks for."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[:n]) for n in range(1, len(parts) + 1))
                if node.op == "call_module":
                    below = self.get_submodule(str(node.target)).named_modules()
                    used.update(f"{node.target}.{name}" for name, _ in below if name)
        for name in [name for name, _ in self.named_modules() if name]:
            if name not in used:
                self.delete_submodule(name)

    # ---- copies, pickles, texts

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph, self._class_name)
        made.meta = dict(self.meta)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        holder = Module()
        skipped = ("_graph", "_code")
        state = {k: v for k, v in self.__getstate__().items() if k not in skipped}
        holder.__dict__.update(copy.deepcopy(state, memo))
        return _rebuilt(type(self), holder.__dict__, copy.deepcopy(self.graph, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        state = self.__getstate__()
        graph = state.pop("_graph")
        state.pop("_code")
        base = next(c for c in type(self).__mro__ if "_of_one_graph" not in c.__dict__)
        return _rebuilt, (base, state, graph)

    def __reduce_ex__(self, _protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()

    def print_readable(
        self, print_output: bool = True, include_stride: bool = False,
        include_device: bool = False, colored: bool = False,
    ) -> str:  # fmt: skip
        """The code as a class; printed, too, unless that is not wanted."""
        body = "\n".join(f"    {line}".rstrip() for line in self.code.splitlines())
        text = f"class {self._class_name}({return_types.shown[0]}.nn.Module):"
        text += "\n" + body.strip("\n") + "\n"
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__repr__(), self.code, hint])


def _rebuilt(cls: Any, state: dict[str, Any], graph: Graph) -> GraphModule:
    """A module of its attributes and its graph."""
    made: GraphModule = cls.__new__(cls)
    made.__setstate__(state)
    type(made).__name__ = made._class_name
    made.graph = graph
    return made
