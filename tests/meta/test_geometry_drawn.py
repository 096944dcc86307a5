"""How generated calls lie in memory, how large they are, what options they take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from tests.meta import planted

import dovetail as dt
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.examples import examples
from dovetail.conformance.judge import judge
from dovetail.conformance.layouts import LAYOUTS, holds, layout_for, projected
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check
from dovetail.dtypes import by_name
from dovetail.engine.op import Op, vocabulary

Array = np.ndarray[Any, Any]
STANDARD = BUDGETS["standard"]


def drawn(op: Op, dtype: dt.dtype = dt.float32) -> list[Example]:
    """The calls of an op at `standard`."""
    return list(examples(Subject("cpu"), op, dtype, STANDARD))


def failing(fault: Any, op: str, dtype: str = "float32") -> list[Example]:
    """The calls that fail with the kernel of an op that goes through a fault."""
    with planted.device(planted.with_kernel(op, fault)) as name:
        verdict = judge(Subject(name), Check(op, dtype, "forward"), STANDARD)
        given = examples(Subject(name), vocabulary[op], by_name(dtype), STANDARD)
        return [e for at, e in enumerate(given) if at in verdict.failing]


# ---- layouts


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != PLAIN])
def test_a_layout_lies_otherwise_than_contiguous(layout: str) -> None:
    """Native arrays have the values and the strides that their layout says."""
    subject = Subject("cpu")
    values = projected(np.arange(24, dtype=np.float32).reshape(2, 3, 4), layout)
    native = subject.native(values, layout)
    place = LAYOUTS[layout].place((2, 3, 4))
    assert place is not None
    assert np.array_equal(native, values)
    assert tuple(s // 4 for s in native.strides) == place.strides
    assert holds((2, 3, 4), layout)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != PLAIN])
def test_one_element_lies_in_no_layout(layout: str) -> None:
    """Arrays of one element, or none, lie as contiguous ones do."""
    assert not any(holds(shape, layout) for shape in [(), (1,), (1, 1, 1), (0, 3)])


def test_no_layout_runs_backwards() -> None:
    """No stride is negative, as none of a tensor is."""
    for layout in LAYOUTS.values():
        for shape in [(), (3,), (2, 3), (2, 3, 4), (0, 2)]:
            place = layout.place(shape)
            assert place is None or min(place.strides, default=0) >= 0


@pytest.mark.parametrize("name", ["add", "exp", "where", "lt"])
def test_calls_of_elementwise_ops_lie_as_they_say(name: str) -> None:
    """Of several elements, one operand at least lies in the layout of its row."""
    op = vocabulary[name]
    for example in drawn(op):
        if example.size == "empty" or example.layout == PLAIN:
            continue
        lies = [
            holds(a.shape, layout_for(op, p.name, example.layout))
            for a, p in zip(example.arrays(), op.params, strict=True)
        ]
        assert any(lies), example.label


def packed(sound: Any, a: Array, *rest: Any, **attrs: Any) -> Any:
    """Rows that lie apart are read as if they did not."""
    usual = np.empty_like(a, order="C").strides
    if a.ndim > 1 and a.strides[-1] == a.itemsize and a.strides > usual:
        a = as_strided(a, a.shape, usual)
    return sound(a, *rest, **attrs)


def one_for_all(sound: Any, a: Array, *rest: Any, **attrs: Any) -> Any:
    """A stride of 0 in the last dim alone is taken for 1."""
    if a.ndim and a.shape[-1] > 1 and a.strides[-1] == 0 and any(a.strides):
        a = np.where(np.arange(a.shape[-1]) > 0, 0, a)
    return sound(a, *rest, **attrs)


@pytest.mark.parametrize(
    ("fault", "layout"), [(packed, "padded"), (one_for_all, "broadcast last")]
)
def test_only_its_layout_finds_a_fault(fault: Any, layout: str) -> None:
    """A kernel that misreads one layout fails on calls that lie so and no others."""
    assert {call.layout for call in failing(fault, "exp")} == {layout}
