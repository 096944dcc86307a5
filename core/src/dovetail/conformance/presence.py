"""What a call in fact has of what it was drawn for: values, layout and size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.layouts import holds as lies
from dovetail.conformance.layouts import layouts_for
from dovetail.conformance.regions import masked_in_whole, regional
from dovetail.conformance.sizes import has_size
from dovetail.conformance.value_makers import pool
from dovetail.conformance.values import EQUAL, MASKED, PAIRS, holds
from dovetail.dtypes import Array, DType
from dovetail.engine.op import Op

Levels = dict[str, str]


def reached(op: Op, dtype: DType, example: Example) -> Levels:
    """By factor, the level of a call, where it is more than a name."""
    found = {
        "values": example.values if has_values(op, dtype, example) else "",
        "layout": example.layout if has_layout(op, example) else "",
        "size": example.size if _has_size(op, example) else "",
    }
    return {factor: level for factor, level in found.items() if level}


def has_values(op: Op, dtype: DType, example: Example) -> bool:
    """Whether an array of data is of the class of values, and results come of it."""
    if not op.tensors:
        return True
    if _has_empty(example):
        return False
    data = [a for a in _data(op, example) if a.dtype == dtype.numpy]
    if example.values == EQUAL:
        return _twins(data)
    if example.values == PAIRS and len(data) > 1 and data[0].shape == data[1].shape:
        needed = min(data[0].size, len(pool(dtype)) ** 2) // 2
        return _meet(np.ravel(data[0]), np.ravel(data[1]), needed)
    if example.values == MASKED and regional(op) and example.case is not None:
        return bool(data) and masked_in_whole(op, example.case, example.size.isdigit())
    return any(holds(a, example.values, dtype) for a in data)


def _has_empty(example: Example) -> bool:
    """Whether an array is empty, other than one in a list of many."""
    case = example.case
    given = () if case is None else (*case.args, *case.kwargs.values())
    return any(isinstance(a, np.ndarray) and a.size == 0 for a in given)


def has_layout(op: Op, example: Example) -> bool:
    """Whether an array of more than one element lies as the layout says."""
    if example.layout == PLAIN:
        return True
    return any(
        layout == example.layout and lies(a.shape, layout)
        for _, a, layout in _given(op, example)
    )


def _has_size(op: Op, example: Example) -> bool:
    shapes = [a.shape for a in example.arrays()]
    return not op.tensors or has_size(example.size, shapes)


def _twins(data: list[Array]) -> bool:
    """Whether two are equal by `==` in many places, and as floats differ in bits."""
    for at, a in enumerate(data):
        for b in data[at + 1 :]:
            if a.size > 1 and b.size > 1 and _alike(a, b):
                return True
    return False


def _alike(a: Array, b: Array) -> bool:
    try:
        if np.broadcast_shapes(a.shape, b.shape) not in (a.shape, b.shape):
            return False  # a table of one by the other may be huge
    except ValueError:
        return False
    a, b = np.broadcast_arrays(a, b)
    same = np.ravel(a == b)
    if not (same[0] and same[-1] and np.mean(same) > 1 / 3):
        return False
    return a.dtype.kind in "biuc" or bool(
        np.any((np.signbit(a) != np.signbit(b)) & (a == b))
    )


def _meet(a: Array, b: Array, needed: int) -> bool:
    """Whether there are so many different pairs, which the first elements may tell."""
    return any(_met(a[:n], b[:n]) >= needed for n in (8 * needed, a.size))


def _met(a: Array, b: Array) -> int:
    """How many different pairs there are, by their bits."""
    words = np.dtype(f"u{a.dtype.itemsize}")
    codes = np.zeros(a.size, np.int64)
    for x in (a, b):
        values, places = np.unique(x.view(words), return_inverse=True)
        codes = codes * values.size + places
    return int(np.unique(codes).size)


def _data(op: Op, example: Example) -> Iterator[Array]:
    for name, a in _named(op, example):
        if name not in op.indices | op.masks:
            yield a


def _named(op: Op, example: Example) -> Iterator[tuple[str, Array]]:
    """The arrays of a call, each with the parameter that it is given for."""
    return ((name, a) for name, a, _ in _given(op, example))


def _given(op: Op, example: Example) -> Iterator[tuple[str, Array, str]]:
    """The same, each with its layout."""
    case = example.case
    if case is None:
        return
    given: list[tuple[str, Any]] = list(zip(op.names, case.args, strict=False))
    for name, value in (*given, *case.kwargs.items()):
        many = value if isinstance(value, list) else [value]
        layouts = layouts_for(op, name, value, example.layout)
        for a, layout in zip(many, layouts, strict=True):
            if isinstance(a, np.ndarray):
                yield name, a, layout
