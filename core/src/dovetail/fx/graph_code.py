"""Graphs as Python: the text of a function, and what its names mean."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from math import inf, nan
from typing import TYPE_CHECKING, Any, Final

from dovetail.device import device
from dovetail.engine import return_types
from dovetail.func.trees import Tree, taken_apart

from .names import Namespace
from .node import Node, map_arg
from .operators import INPLACE, MAGIC
from .public_names import qualified_name, room, type_text

if TYPE_CHECKING:
    from .graph import Graph

_ALWAYS: Final[dict[str, Any]] = {
    "inf": inf, "nan": nan, "NoneType": type(None), "torch": room(""),
    "dovetail": room(""), "device": device,
}  # fmt: skip
_HUMP: Final = re.compile(r"(?<=[a-z])([A-Z])")


def snake_case(s: str) -> str:
    """`MaxPool` as `max_pool`."""
    return _HUMP.sub(r"_\1", s).lower()


@dataclass
class PythonCode:
    """The text of a function `forward`, and the globals that it needs."""

    src: str
    globals: dict[str, Any] = field(default_factory=dict)


class CodeGen:
    """Writes graphs as Python.

    Attributes:
        transformer: changes the lines, None if nothing does.
        form: the parameters' names and the form of their containers, if inputs of the
            graph are inside of what the function is called with.
    """

    def __init__(self) -> None:
        self.transformer: Callable[[list[str]], list[str]] | None = None
        self.form: tuple[list[str], Tree] | None = None

    def process_inputs(self, *args: Any) -> Any:
        """The inputs of the graph, of the arguments of its code."""
        return args if self.form is None else taken_apart(list(args))[0]

    def process_outputs(self, outputs: Any) -> Any:
        """What the code returns, of the output of the graph."""
        return outputs

    def generate(self, graph: Graph, root: str) -> PythonCode:
        """The code of a graph, whose modules are below a name."""
        writer = _Writer(graph, root)
        lines, parameters = writer.lines()
        if self.form is not None:
            names, _ = self.form
            flat = ", ".join(re.split("[ :=]", p)[0] for p in parameters)
            known = writer.known("flat_inputs", self.process_inputs)
            lines.insert(0, f"{flat}, = {known}({', '.join(names)})\n")
            parameters = list(names)
        if self.transformer is not None:
            lines = self.transformer(lines)
        wraps = [
            f'{return_types.shown[0]}.fx._symbolic_trace.wrap("{name}")'
            for name in writer.wrapped
        ]
        head = "\n".join(wraps)
        taken = ", ".join([root, *parameters])
        body = "".join(f"    {line}" for line in "".join(lines).splitlines(True))
        returned = f" -> {writer.returned}" if writer.returned else ""
        text = f"\n{head}\n\ndef forward({taken}){returned}:\n{body or '    pass'}"
        return PythonCode(text + "\n    ", writer.globals)


class _Writer:
    """Writes one graph."""

    def __init__(self, graph: Graph, root: str) -> None:
        self.graph, self.root = graph, root
        self.globals = dict(_ALWAYS)
        self.names = Namespace()
        self.wrapped: list[str] = []
        self.returned = ""
        for node in graph.nodes:
            self.names.associate_name_with_obj(node.name, node)

    def lines(self) -> tuple[list[str], list[str]]:
        """The lines of the body, and the parameters."""
        lines: list[str] = []
        parameters: list[str] = []
        last = _last_uses(self.graph)
        for node in self.graph.nodes:
            if node.op == "placeholder":
                parameters.append(self.parameter(node))
                plain = str(node.target).replace("*", "")
                lines += [f"{node.name} = {plain}\n"] if plain != node.name else []
            elif node.op == "output":
                self.returned = "" if node.type is None else self.annotation(node.type)
                lines.append(f"return {self.text(node.args[0])}")
            else:
                ends = [*last.get(node, ()), *([] if node.users else [node])]
                freed = "".join(f"{n.name} = " for n in ends)
                lines.append(self.step(node) + (f";  {freed}None\n" if ends else "\n"))
        return lines, parameters

    def parameter(self, node: Node) -> str:
        """An input, as it stands in the head of the function."""
        kind = "" if node.type is None else f" : {self.annotation(node.type)}"
        default = f" = {self.text(node.args[0])}" if node.args else ""
        return f"{node.target}{kind}{default}"

    def annotation(self, kind: Any) -> str:
        """A type, by a name that the code knows."""
        text = type_text(kind)
        if text.split(".")[0] in self.globals or hasattr(builtins, text):
            return text
        return self.known(text, kind)

    def step(self, node: Node) -> str:
        """The line of a step, without its end."""
        kind = "" if node.type is None else f" : {self.annotation(node.type)}"
        head = f"{node.name}{kind} = "
        if node.op == "get_attr":
            return head + path_text(self.root, str(node.target))
        if node.op == "call_module":
            called = path_text(self.root, str(node.target))
            return f"{head}{called}({self.arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            called = path_text(self.text(node.args[0]), str(node.target))
            return f"{head}{called}({self.arguments(node.args[1:], node.kwargs)})"
        return self.function_step(node, head)

    def function_step(self, node: Node, head: str) -> str:
        """A call of a function, as an operator where it is one."""
        target: Any = node.target
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", "") == "_operator" and not node.kwargs:
            args = [self.text(a) for a in node.args]
            if name in MAGIC:
                return head + MAGIC[name].format(*args)
            if name in INPLACE:
                return f"{INPLACE[name].format(*args)};  {head}{args[0]}"
        if target is getattr and len(node.args) == 2 and _is_name(node.args[1]):
            return f"{head}{self.text(node.args[0])}.{node.args[1]}"
        known = self.function(target)
        if node.meta.get("is_wrapped") and known not in self.wrapped:
            self.wrapped.append(known)
        return f"{head}{known}({self.arguments(node.args, node.kwargs)})"

    def function(self, target: Any) -> str:
        """How the code calls a function."""
        name = qualified_name(target)
        if name.startswith(f"{return_types.shown[0]}."):
            return name
        if name.startswith("operator."):
            name = f"_{name}"  # the module that has them
        return self.known(name.removeprefix("builtins."), target)

    def known(self, hint: str, value: Any) -> str:
        """A global name of a value."""
        if getattr(builtins, hint, None) is value:
            return hint
        name = self.names.create_name(hint.replace(".", "_"), _Same(value))
        self.globals[name] = value
        return name

    def arguments(self, args: Any, kwargs: dict[str, Any]) -> str:
        """Arguments as they stand in a call."""
        named = [f"{name} = {self.text(value)}" for name, value in kwargs.items()]
        return ", ".join([*map(self.text, args), *named])

    def text(self, value: Any) -> str:
        """An argument as code."""
        if isinstance(value, Node):
            return value.name
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, tuple):
            inner = ", ".join(map(self.text, value))
            inner = f"({inner},)" if len(value) == 1 else f"({inner})"
            if hasattr(value, "_fields"):
                return f"{self.known(type(value).__name__, type(value))}(*{inner})"
            return inner
        if isinstance(value, dict):
            items = (f"{k!r}: {self.text(v)}" for k, v in value.items())
            return "{" + ", ".join(items) + "}"
        if isinstance(value, slice):
            ends = (value.start, value.stop, value.step)
            return f"slice({', '.join(map(self.text, ends))})"
        if isinstance(value, Enum):
            return f"{self.known(type(value).__name__, type(value))}.{value.name}"
        if isinstance(value, type):
            return self.annotation(value)
        return self.function(value) if callable(value) else repr(value)


class _Same:
    """A value as a key: the same only as itself."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """The nodes that each node is the last to use."""
    seen: set[Node] = set()
    ends: dict[Node, list[Node]] = {}

    def note(user: Node) -> Callable[[Node], Node]:
        def used(node: Node) -> Node:
            if node not in seen:
                seen.add(node)
                ends.setdefault(user, []).append(node)
            return node

        return used

    for user in reversed(graph.nodes):
        map_arg(user.args, note(user))
        map_arg(user.kwargs, note(user))
    return ends


def path_text(base: str, target: str) -> str:
    """A dotted path below a name, as code."""
    for part in target.split("."):
        base = f"{base}.{part}" if _is_name(part) else f'getattr({base}, "{part}")'
    return base


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and text.isidentifier() and not keyword.iskeyword(text)
