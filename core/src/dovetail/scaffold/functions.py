"""The functions that a backend's author writes, read off the declarations.

Kernels come from the vocabulary's primitives, memory functions from the abstract
methods of the base class: names, parameters, and what each has to do.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from dovetail.device_api import Backend, DenseBackend
from dovetail.dtypes import (
    BOOL_CATEGORY,
    FLOAT_CATEGORY,
    INT_CATEGORY,
    DType,
    bool_,
    float32,
    int32,
    int64,
)
from dovetail.engine.op import Op, vocabulary
from dovetail.errors import NotSupported

CLAIMED: Final = (bool_, int32, int64, float32)
"""The dtypes that a new backend claims: what level 0 needs, and indices."""
NAMES: Final = {d: "bool_" if d is bool_ else d.name for d in CLAIMED}
"""What the module `dovetail.dtypes` calls them."""

# What a kernel gets for an attribute of a declaration; `kind` is split in two.
_ATTRIBUTES: Final = {
    "Axis": "int", "Axes": "tuple[int, ...]", "int": "int", "bool": "bool",
    "DType": "DType", "DType | None": "DType | None",
}  # fmt: skip
_GROUPS: Final = {
    frozenset({BOOL_CATEGORY, INT_CATEGORY, FLOAT_CATEGORY}): "ALL",
    frozenset({INT_CATEGORY, FLOAT_CATEGORY}): "NUMBERS",
    frozenset({BOOL_CATEGORY, INT_CATEGORY}): "BITS",
    frozenset({FLOAT_CATEGORY}): "FLOATS",
    frozenset({INT_CATEGORY}): "INTS",
}
_TYPES: Final = {"Native": "Array", "Dense": "Array"}


@dataclass(frozen=True, slots=True)
class Function:
    """One function of the skeleton.

    Attributes:
        parameters: name and annotation of each, as text.
        returns: the annotation of the result.
        doc: what it must do, in paragraphs.
        dtypes: of a kernel, the name of a set of dtypes in `kernels.py`.
    """

    name: str
    parameters: tuple[str, ...]
    returns: str
    doc: str
    dtypes: str = ""


def primitives() -> list[Op]:
    """The ops of level 0, in the order of their declarations."""
    return [op for op in vocabulary.values() if op.primitive]


def kernels(*, dense: bool) -> list[Function]:
    """The kernels of level 0 as functions on native arrays and attributes."""
    return [_kernel(op, dense) for op in primitives()]


def _kernel(op: Op, dense: bool) -> Function:
    returns = "Array"
    if op.mutates:  # what dense arrays cannot hold, a kernel may return
        returns = "Array | None" if dense else "None"
    return Function(
        op.name,
        tuple(_parameters(op)),
        returns,
        op.meaning,
        _group(op.primitive),
    )


def _parameters(op: Op) -> Iterator[str]:
    for param in op.params:
        written = op.body.__annotations__[param.name]
        if param.role == "tensor":
            yield f"{param.name}: Array"
        elif written == "Kind":
            yield "dtype: DType"
            yield "index: int"
        elif written in _ATTRIBUTES:
            yield f"{param.name}: {_ATTRIBUTES[written]}"
        else:
            raise NotSupported(
                op.name, param.name, was=f"a {written}",
                needed=f"one of Tensor, Kind, {', '.join(_ATTRIBUTES)} in a primitive",
                remedy="say in scaffold/functions.py what its kernel gets",
            )  # fmt: skip


def _group(dtypes: frozenset[DType]) -> str:
    """The claimed dtypes of a primitive, by name of their set where there is one."""
    found = [d for d in CLAIMED if d in dtypes]
    categories = frozenset(d.category for d in found)
    whole = all(d in dtypes for d in CLAIMED if d.category in categories)
    if whole and categories in _GROUPS:
        return _GROUPS[categories]
    return spelled(found)


def spelled(dtypes: Iterable[DType]) -> str:
    """A set of dtypes as code."""
    return "{" + ", ".join(NAMES[d] for d in dtypes) + "}"


def methods(*, dense: bool) -> list[Function]:
    """The methods that a backend has to supply, in the order of their declarations."""
    base = DenseBackend if dense else Backend
    declared = {**vars(Backend), **vars(base)}
    wanted = [name for name in declared if name in base.__abstractmethods__]
    wanted.sort(key=lambda name: name == "kernels")  # it comes last
    return [_method(getattr(base, name)) for name in wanted]


def _method(method: object) -> Function:
    signature = inspect.signature(method)  # type: ignore[arg-type]
    parameters = [
        name
        if parameter.annotation is parameter.empty
        else f"{name}: {_typed(parameter.annotation)}"
        for name, parameter in signature.parameters.items()
    ]
    return Function(
        method.__name__,  # type: ignore[attr-defined]
        tuple(parameters),
        _typed(signature.return_annotation),
        inspect.getdoc(method) or "",
    )


def _typed(annotation: str) -> str:
    return _TYPES.get(annotation, annotation)
