"""Calls that differ from a given one in one thing only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.sequence import REWRITTEN, STREAM, Step
from dovetail.conformance.subject import Subject
from dovetail.device_api.capabilities import Streams
from dovetail.dtypes import ALL, Array, DType, from_numpy
from dovetail.engine.cases import Case
from dovetail.engine.op import Op
from dovetail.engine.parameters import Param

# Equal by `==` and not the same numbers.
_ALIKE: Final = (0.0, -0.0, 1, 1.0, True)
# In the place of None, by the type of an attribute.
_GIVEN: Final = {"int": 3, "bool": True, "float": 0.5, "Scalar": 0.5}


def neighbours(subject: Subject, op: Op, first: Step) -> Iterator[Step]:
    """The call's neighbours: in values, sizes, layout, dtype, attributes, stream.

    Some may be no calls of the op, which then refuses them.
    """
    if op.tensors:
        yield from _of_tensors(op, first)
        yield from _of_dtypes(subject, op, first)
    yield from _of_attributes(subject, op, first)
    yield from _of_numbers(op, first)
    if subject.backend.capability(Streams) is not None:
        yield replace(first, differs="another stream", way=STREAM)


def _of_tensors(op: Op, first: Step) -> Iterator[Step]:
    rolled = _mapped(op, first.case, lambda a: np.roll(a, 1))
    way = "" if op.mutates or first.layout != PLAIN else REWRITTEN
    differs = "other values in the same memory" if way else "other values"
    yield replace(first, differs=differs, case=rolled, way=way)
    sizes = [n for a in Example(first.case).arrays() for n in a.shape]
    if max(sizes, default=0) > 1:
        largest, half = max(sizes), (max(sizes) + 1) // 2
        smaller = cut(first.case, largest, half)
        yield replace(first, differs=f"{half} for the size {largest}", case=smaller)
    turned = _turned(op, first.case)
    if turned is not None:
        yield replace(first, differs="the order of the sizes", case=turned)
    if not op.layout_matters and first.layout == PLAIN:
        yield replace(first, differs="the layout, transposed", layout="transposed")
        yield replace(first, differs="the layout, strided", layout="strided")
        square = _square(op, first.case)
        if square is not None:  # transposed, its sizes are what they were
            differs = "sizes, which are equal"
            yield replace(first, differs=differs, case=square)
            differs += ", and the layout, transposed"
            yield replace(first, differs=differs, case=square, layout="transposed")


def _turned(op: Op, case: Case) -> Case | None:
    """The same numbers with the sizes the other way round; None if that is no call."""
    shape = _one_shape(op, case)
    if shape == shape[::-1]:
        return None
    return _arrays(case, lambda a: a.reshape(shape[::-1]))


def _square(op: Op, case: Case) -> Case | None:
    """The first numbers along the last two dims, as many of both."""
    sizes = _one_shape(op, case)[-2:]
    if len(set(sizes)) < 2 or min(sizes) < 2:
        return None
    return _arrays(case, lambda a: a[..., : min(sizes), : min(sizes)].copy())


def _one_shape(op: Op, case: Case) -> tuple[int, ...]:
    """The shape of all operands of an elementwise op; none where they differ."""
    shapes = {a.shape for a in Example(case).arrays()}
    return shapes.pop() if op.is_elementwise and len(shapes) == 1 else ()


def cut(case: Case, size: int, to: int) -> Case:
    """Every dim of that size cut to its first elements."""

    def shorter(a: Array) -> Array:
        return a[tuple(slice(to if n == size else n) for n in a.shape)].copy()

    return _arrays(case, shorter)


def _of_dtypes(subject: Subject, op: Op, first: Step) -> Iterator[Step]:
    """The dtype of the same width in another category, then the next of its own."""
    lead = first.dtype
    others = [d for d in ALL if d in op.accepts and subject.claims(d) and d is not lead]
    same_width = (d for d in others if d.itemsize == lead.itemsize)
    same_category = (d for d in others if d.category == lead.category)
    for dtype in dict.fromkeys((next(same_width, None), next(same_category, None))):
        if dtype is not None:
            case = _mapped(op, first.case, _cast(lead, dtype))
            differs = f"the dtype, {dtype.name}"
            yield replace(first, differs=differs, case=case, dtype=dtype)


def _cast(lead: DType, dtype: DType) -> Callable[[Array], Array]:
    def cast(a: Array) -> Array:
        if from_numpy(a.dtype) is not lead:
            return a
        real = a.real if lead.is_complex and not dtype.is_complex else a
        return np.asarray(real.astype(dtype.numpy))

    return cast


def _of_attributes(subject: Subject, op: Op, first: Step) -> Iterator[Step]:
    values = dict(zip(op.names, first.case.args, strict=False)) | first.case.kwargs
    for param in op.rest:
        value = values.get(param.name, param.default)
        others = _others(subject, value, param.role == "scalar")
        for other in (*others, *_left_out(param, value)):
            case = _with(op, first.case, param.name, other)
            yield replace(first, differs=f"{param.name}={other!r}", case=case)


def _others(subject: Subject, value: Any, number: bool) -> Iterator[Any]:
    if number and type(value) in (bool, int, float):
        yield from (n for n in _ALIKE if repr(n) != repr(value))
        yield value + 4 if type(value) is int else value / 2
    elif type(value) is bool:
        yield not value
    elif type(value) is int:
        yield value + 1
    elif type(value) is float:
        yield value / 2
    elif isinstance(value, tuple) and len(value) > 1:
        yield value[::-1]
    elif isinstance(value, DType):
        yield from [d for d in ALL if subject.claims(d) and d is not value][:1]


def _left_out(param: Param, value: Any) -> Iterator[Any]:
    """None in the place of what may be left out, and something in the place of None."""
    kind, _, none = param.annotation.partition(" | ")
    if none == "None" and value is not None:
        yield None
    elif none == "None" and kind in _GIVEN:
        yield _GIVEN[kind]


def _of_numbers(op: Op, first: Step) -> Iterator[Step]:
    """Numbers in the place of a second operand."""
    place = next((i for i, p in enumerate(op.params) if p.number and i), None)
    if place is None or len(first.case.args) <= place:
        return
    if op.mutates or not isinstance(first.case.args[place], np.ndarray):
        return
    name = op.params[place].name
    for number in _ALIKE:
        case = _with(op, first.case, name, number)
        yield replace(first, differs=f"{name}={number!r}", case=case)


def _with(op: Op, case: Case, name: str, value: Any) -> Case:
    at = op.names.index(name)
    if at >= len(case.args):
        return Case(case.args, {**case.kwargs, name: value})
    return Case((*case.args[:at], value, *case.args[at + 1 :]), case.kwargs)


def _mapped(op: Op, case: Case, change: Callable[[Array], Array]) -> Case:
    """The call with its data changed; indices and masks as they were."""
    kept = op.indices | op.masks
    names = (*op.names, *(op.names[-1:] * len(case.args)))
    args = tuple(
        a if name in kept else _changed(a, change)
        for name, a in zip(names, case.args, strict=False)
    )
    kwargs = {
        k: v if k in kept else _changed(v, change) for k, v in case.kwargs.items()
    }
    return Case(args, kwargs)


def _arrays(case: Case, change: Callable[[Array], Array]) -> Case:
    """The call with every array changed."""
    kwargs = {k: _changed(v, change) for k, v in case.kwargs.items()}
    return Case(tuple(_changed(a, change) for a in case.args), kwargs)


def _changed(value: Any, change: Callable[[Array], Array]) -> Any:
    if isinstance(value, list):
        return [_changed(v, change) for v in value]
    return change(value) if isinstance(value, np.ndarray) else value
