"""What an op's callable remembers of its last call serves no call that is another."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail import Tensor
from dovetail.engine.call_source import source_of
from dovetail.engine.op import declared, vocabulary

F = dt.nn.functional

A: Final = dt.tensor(np.linspace(-2, 2, 8, dtype=np.float32)).reshape(2, 4)
B: Final = dt.tensor(np.linspace(1, 3, 8, dtype=np.float32)).reshape(2, 4)
D: Final = A.double()
WEIGHT: Final = dt.tensor([0.5, 1.0, 2.0, 4.0])
LABELS: Final = dt.tensor([3, 1])
NARROW: Final = LABELS.int()
LEAF: Final = A.clone().requires_grad_()

# Calls of one op that differ in what its keys are made of, by op.
CALLS: Final[dict[str, list[Callable[[], Tensor]]]] = {
    "layer_norm": [
        lambda: F.layer_norm(A, (4,)),
        lambda: F.layer_norm(A, (4,), WEIGHT),
        lambda: F.layer_norm(A, (4,), None, WEIGHT),
        lambda: F.layer_norm(A, (4,), WEIGHT, WEIGHT, 1.0),
        lambda: F.layer_norm(D, (4,)),
        lambda: F.layer_norm(A, (2, 4)),
    ],
    "cross_entropy": [
        lambda: F.cross_entropy(A, LABELS),
        lambda: F.cross_entropy(A, LABELS, WEIGHT),
        lambda: F.cross_entropy(A, LABELS, None, reduction="sum"),
        lambda: F.cross_entropy(A, LABELS, WEIGHT, ignore_index=3),
        lambda: F.cross_entropy(A, LABELS, ignore_index=3),
        lambda: F.cross_entropy(D, LABELS, reduction="none"),
    ],
    "bincount": [
        lambda: dt.bincount(LABELS),
        lambda: dt.bincount(LABELS, B[0, :2]),
        lambda: dt.bincount(LABELS, minlength=6),
        lambda: dt.bincount(NARROW, D[0, :2]),
    ],
    "sum": [
        lambda: A.sum(0),
        lambda: A.sum(1),
        lambda: A.sum(-1, keepdim=True),
        lambda: A.sum((0, 1)),
        lambda: A[0].sum(0),
        lambda: A.sum(0, dtype=dt.float64),
        lambda: A.sum(),
    ],
    "cat": [
        lambda: dt.cat((A, B)),
        lambda: dt.cat((A, B), 1),
        lambda: dt.cat([A, B, A]),
        lambda: dt.cat((A,), -1),
        lambda: dt.cat((A[0], B[0])),
        lambda: dt.cat((A, D)),
        lambda: dt.cat((D, A)),
        lambda: dt.cat((LEAF, A)),
        lambda: dt.cat((A, LEAF), -2),
    ],
    "view": [
        lambda: A.view(4, 2),
        lambda: A.view((8,)),
        lambda: A.view([2, 2, 2]),
        lambda: A.view(-1),
        lambda: D.view(1, -1),
        lambda: A.view(8, 1),
    ],
    "embedding": [
        lambda: F.embedding(LABELS, B.t()),
        lambda: F.embedding(NARROW, B.t()),
        lambda: F.embedding(LABELS, B.t(), padding_idx=1),
        lambda: F.embedding(LABELS, D.t()),
    ],
    "mul": [
        lambda: A * 2,
        lambda: A * 2.0,
        lambda: A * True,
        lambda: LABELS * True,
        lambda: LABELS * 2,
        lambda: LABELS * 2.5,
        lambda: A * B,
        lambda: A * D,
    ],
    "clamp": [
        lambda: A.clamp(0),
        lambda: A.clamp(max=0),
        lambda: A.clamp(0, 1),
        lambda: A.clamp(-0.5, 0.5),
        lambda: LABELS.clamp(0, 2),
        lambda: A.clamp(B),
        lambda: A.clamp(None, B),
        lambda: A.clamp(-B, B),
        lambda: A.clamp(LEAF),
    ],
    "softmax": [
        lambda: A.softmax(0),
        lambda: A.softmax(1),
        lambda: A.softmax(-1, dtype=dt.float64),
        lambda: A[0].softmax(0),
    ],
}  # fmt: skip


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_calls_of_an_op_in_any_order_give_what_each_gives_first(
    data: st.DataObject,
) -> None:
    name = data.draw(st.sampled_from(sorted(CALLS)), label="op")
    order = data.draw(
        st.lists(st.integers(0, len(CALLS[name]) - 1), min_size=2, max_size=12),
        label="calls",
    )
    first = []
    for at in order:
        vocabulary[name].forget_calls()
        first.append(CALLS[name][at]())
    vocabulary[name].forget_calls()
    for at, expected in zip(order, first, strict=True):
        found = CALLS[name][at]()
        assert found.dtype is expected.dtype
        assert found.shape == expected.shape
        assert found.requires_grad == expected.requires_grad
        np.testing.assert_array_equal(found.detach(), expected.detach())


def test_parts_of_keys_are_compared_one_by_one() -> None:
    """`a is not b is None` would be a chain, that asks something else."""
    for op in declared():
        for function in op.callables:
            text, _ = source_of(op, function.form)
            chained = [
                node for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.Compare) and len(node.ops) > 1
                and any(isinstance(o, ast.IsNot | ast.NotEq) for o in node.ops)
            ]  # fmt: skip
            assert not chained, (op.name, [ast.unparse(node) for node in chained])


def test_shapes_are_remembered_as_tuples_are() -> None:
    """A call that is given another tensor's shape learns an entry, and one alone."""
    calls: dict[str, Callable[[object], Tensor]] = {
        "view": lambda size: A.view(size), "expand": lambda size: WEIGHT.expand(size),
        "layer_norm": lambda size: F.layer_norm(B[0].expand(2, 2, 4), size),
    }  # fmt: skip
    for name, call in calls.items():
        op, shape = vocabulary[name], B.shape
        call(shape)
        op.forget_calls()
        found = call(shape)
        assert len(op.calls) == 1
        assert call(tuple(shape)).equal(found)
        assert len(op.calls) == 1
