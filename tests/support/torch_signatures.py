"""torch's public signatures: by `inspect`, else from the stubs that torch ships."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

_STUBS = Path(torch.__file__).parent
EMPTY: Any = inspect.Parameter.empty


class Parameter(NamedTuple):
    """One parameter: its name, its default (EMPTY without one), and whether `*name`."""

    name: str
    default: Any
    several: bool = False


Signature = tuple[Parameter, ...]


@cache
def _overloads(stub: str, cls: str | None) -> dict[str, list[Signature]]:
    """Every signature of every function of a stub file, or of a class in it."""
    tree: Any = ast.parse((_STUBS / stub).read_text(encoding="utf-8"))
    if cls is not None:
        tree = next(
            n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == cls
        )
    found: dict[str, list[Signature]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(_of_tree(node.args))
    return found


def _of_tree(args: ast.arguments) -> Signature:
    names = [*args.posonlyargs, *args.args]
    missing = [None] * (len(names) - len(args.defaults))
    pairs = list(zip(names, [*missing, *args.defaults], strict=True))
    pairs += list(zip(args.kwonlyargs, args.kw_defaults, strict=True))
    found = [Parameter(a.arg, EMPTY if d is None else _constant(d)) for a, d in pairs]
    if args.vararg is not None:
        found.insert(len(names), Parameter(args.vararg.arg, EMPTY, True))
    return tuple(found)


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def signatures(space: str, name: str, function: Any) -> list[Signature]:
    """All signatures that torch has for a name of `torch`, `Tensor` or `F`.

    Args:
        space: "torch", "Tensor" or "F".
        function: torch's own, asked by `inspect` where the stubs have none.
    """
    stubs = {
        "torch": [("_C/_VariableFunctions.pyi", None)],
        "Tensor": [("_C/__init__.pyi", "TensorBase")],
        "F": [
            ("nn/functional.pyi", None),
            ("_C/_nn.pyi", None),
            ("_C/_VariableFunctions.pyi", None),
        ],
    }
    if not inspect.isbuiltin(function) and type(function).__name__ not in (
        "method_descriptor", "wrapper_descriptor", "builtin_function_or_method",
    ):  # fmt: skip
        found = _of_object(function)
        if [p.name for p in found] != ["args", "kwargs"]:  # those of a dispatcher
            return [found]
    for stub, cls in stubs[space]:
        found = _overloads(stub, cls).get(name)
        if found:
            return found
    return []


def _of_object(function: Any) -> Signature:
    return tuple(
        Parameter(p.name, p.default, p.kind is p.VAR_POSITIONAL)
        for p in inspect.signature(function).parameters.values()
    )


def ours(function: Any) -> Signature:
    """The signature of one of dovetail's functions."""
    return _of_object(function)
