"""What an op's declaration says, as plain data."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any, Final

from dovetail import dtypes
from dovetail.conformance.unlocks import dependents, uses
from dovetail.dtypes import DType
from dovetail.engine.op import Op, declared
from dovetail.engine.parameters import Param
from dovetail.engine.results import DATA
from dovetail.engine.signature import Signature
from dovetail.errors import ArgumentError

# What kernels get for annotations that mean more to users.
_GIVEN: Final = {
    "Axis": "int", "Axes": "tuple[int, ...]", "AxisList": "tuple[int, ...]",
    "Scalar": "number", "Sizes": "tuple[int, ...]", "Shape": "tuple[int, ...]",
}  # fmt: skip
_ARRAYS: Final = {"tensor": "array", "optional": "array | None", "list": "list[array]"}


def named(names: Iterable[str]) -> list[Op]:
    """The ops of these names and patterns.

    Raises:
        ArgumentError: one fits nothing.
    """
    known = {each.name: each for each in declared()}
    wanted: dict[str, Op] = {}
    for name in names:
        fitting = {n: each for n, each in known.items() if fnmatchcase(n, name)}
        if not fitting:
            near = get_close_matches(name, known, 3)
            raise ArgumentError(
                "dovetail op", "name", was=repr(name), needed="the name of an op",
                remedy=f"there is {', '.join(near)}" if near else None,
            )  # fmt: skip
        wanted |= fitting
    return list(wanted.values())


def facts(each: Op) -> dict[str, Any]:
    """What the declaration of an op says, as plain data."""
    users = dependents()[each.name] - {each.name}
    return {
        "name": each.name,
        "doc": " ".join(each.meaning.split()),
        "kernel": f"{each.name}({', '.join(_parameters(each))})",
        "shape": _shape(each),
        "results": _results(each),
        "writes": list(each.mutates),
        "row_major": each.row_major,
        "dtypes": [d.name for d in dtypes.ALL if d in each.accepts],
        "primitive": [d.name for d in dtypes.ALL if d in each.primitive],
        "made_of": [] if each.primitive else sorted(uses(each)),
        "needed_by": sorted(users),
        "refuses_values": each.check is not None,
        "torch": list(each.public),
        "file": _place(each),
    }


def _parameters(each: Op) -> Iterator[str]:
    """What a kernel takes: arrays in order, then attributes by name."""
    for param in each.tensors:
        yield f"{param.name}: {_ARRAYS[param.role]}"
    if each.rest:
        yield "*"
    for param in each.rest:
        if param.name == "kind":
            yield "dtype: DType"
            yield "index: int"
        else:
            yield f"{param.name}: {_annotation(each, param)}"


def _annotation(each: Op, param: Param) -> str:
    written = str(each.body.__annotations__.get(param.name, param.annotation))
    return " | ".join(_GIVEN.get(part, part) for part in written.split(" | "))


def _shape(each: Op) -> str:
    """The signature, where there is one; else where the rule is."""
    if isinstance(each.shape, Signature):
        same = "elementwise: operands broadcast" if each.is_elementwise else ""
        return same or each.shape.text
    return "known when it runs" if each.shape is DATA else "by a rule, see the file"


def _results(each: Op) -> dict[str, str]:
    """By result, its dtype for each dtype that the op takes."""
    found: dict[str, dict[str, list[str]]] = {name: {} for name in each.outputs}
    for dtype in (d for d in dtypes.ALL if d in each.accepts):
        for name, made in zip(each.outputs, _dtypes_of(each, dtype), strict=True):
            found[name].setdefault(made, []).append(dtype.name)
    return {name: _told(by_dtype) for name, by_dtype in found.items()}


def _dtypes_of(each: Op, dtype: DType) -> Sequence[str]:
    """What the results are for inputs of a dtype; `same` where that is it."""
    given = [dtype] * max(1, len(each.tensors))
    attrs = {p.name: p.default for p in each.rest}
    try:
        made = each.result_dtypes(given, attrs)
    except Exception:  # the rule asks for an attribute that has no default
        return ["as its attributes say"] * len(each.outputs)
    named = {d: d.name for d in dtypes.ALL} | {dtype: "same"}
    return [named.get(y, "as its attributes say") for y in made]


def _told(by_dtype: dict[str, list[str]]) -> str:
    if len(by_dtype) == 1:
        return next(iter(by_dtype))
    return "; ".join(f"{made} for {', '.join(of)}" for made, of in by_dtype.items())


def _place(each: Op) -> str:
    """The file of a declaration, with the line where the body is written there."""
    own = inspect.getsourcefile(import_module(each.module)) or each.module
    code = each.body.__code__
    return f"{own}:{code.co_firstlineno}" if code.co_filename == own else own


__all__ = ["facts", "named"]
