"""Annotations of live functions as text that stands on its own in a stub."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ForwardRef, Literal, Union, get_args, get_origin

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.arguments import Shown
from dovetail.engine.homes import home_of
from dovetail.engine.tensor import Tensor
from dovetail.memory_formats import layout, memory_format

# What a name means where a module or a type checker may not know it.
_MEANS: Mapping[str, Any] = {
    "Operand": Tensor | complex, "Real": Tensor | float, "DType": DType,
    "DeviceLike": device | str | None, "Layout": layout, "MemoryFormat": memory_format,
}  # fmt: skip


def source_of(function: Any) -> Any:
    """The function that has the parameters of a public callable."""
    while True:
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is None:
            return function
        function = wrapped.function if isinstance(wrapped, Shown) else wrapped


class Imports:
    """The names that a stub uses, and where they come from.

    Args:
        taken: names that the stub defines, which therefore mean something else in it.
    """

    def __init__(self, taken: frozenset[str]) -> None:
        self.taken = taken
        self.lines: set[str] = set()

    def name(self, value: Any) -> str:
        """How the stub calls a class, a type variable or a special form."""
        module, name = value.__module__, value.__name__
        if module == "builtins" and name not in self.taken:
            return str(name)
        alias = f"_{name}" if name in self.taken else name
        renamed = f" as {alias}" if alias != name else ""
        self.lines.add(f"from {module} import {name}{renamed}")
        return str(alias)

    def text(self, annotation: Any, function: Any) -> str:
        """An annotation of `function`, whose names mean what its module says."""
        if annotation is inspect.Parameter.empty:
            return self.text(Any, function)
        return self._shown(annotation, _Scope(function))

    def _shown(self, value: Any, scope: _Scope) -> str:
        if isinstance(value, ForwardRef):
            value = value.__forward_arg__
        if isinstance(value, str):
            return self._shown(scope.value(value), scope)
        if value is None or value is type(None):
            return "None"
        if value is Ellipsis:
            return "..."
        if isinstance(value, list):
            return f"[{', '.join(self._shown(v, scope) for v in value)}]"
        origin = get_origin(value)
        if origin is None:
            return self.name(value)
        if origin is Literal:
            self.lines.add("from typing import Literal")
            return f"Literal[{', '.join(map(repr, get_args(value)))}]"
        parts = [self._shown(v, scope) for v in get_args(value)]
        if origin in (Union, types.UnionType):
            return " | ".join(dict.fromkeys(" | ".join(parts).split(" | ")))
        if origin is Callable:
            return f"{self.name(origin)}[{', '.join(parts)}]"
        return f"{self.name(origin)}[{', '.join(parts)}]"


class _Scope:
    """The names that a function's annotations may use."""

    def __init__(self, function: Any) -> None:
        module = sys.modules[home_of(function)]
        self.names = {**vars(builtins), **vars(module), **_only_checked(module)}

    def value(self, text: str) -> Any:
        """What an annotation evaluates to."""
        return eval(text, {**self.names, **_MEANS})


@cache
def _only_checked(module: types.ModuleType) -> dict[str, Any]:
    """What a module imports for type checkers alone."""
    names: dict[str, Any] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            imports = list(filter(_imports, node.body))
            code = ast.Module(body=imports, type_ignores=[])
            exec(compile(code, module.__name__, "exec"), names)
    return names


def _imports(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


__all__ = ["Imports", "source_of"]
