"""Lowering: the graph of an op in primitives is the op."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance.example import Example
from dovetail.conformance.reference import reference
from dovetail.engine.bodies import run_body
from dovetail.engine.cases import cases_of
from dovetail.engine.execution import results_of
from dovetail.engine.graph import Graph, Number, Placed, Spec
from dovetail.engine.interpret import interpret
from dovetail.engine.lower import is_primitive
from dovetail.engine.modes import no_grad
from dovetail.engine.naming import spec_of
from dovetail.engine.op import Op, declared, vocabulary
from dovetail.engine.promotion import lead_of, prepare
from dovetail.engine.results import DATA
from dovetail.errors import NotSupported

# Ops whose bodies decide by values, beside those whose shapes depend on values.
BY_VALUES = {
    "random_integers": "draws again what was rejected",
    "scatter_reduce": "combines values that meet in rounds, till none is left",
}
DTYPES = (dt.float32, dt.float16, dt.int32, dt.bool)
DRAW: dict[str, Any] = {
    "shape": (3, 5), "n": 7, "low": 0, "high": 6, "mean": 0.5, "std": 2.0, "rate": 1.5,
    "p": 0.4, "seed": 3, "offset": 8, "stream": 1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _bare() -> None:
    """Level 0 alone is there, where a body runs as deep as its graph goes."""
    reference()


def arguments(op: Op, dtype: dt.dtype) -> Iterator[list[Any]]:
    """All arguments of the op's cases, or of one draw."""
    if op.draws is not None:
        x = dt.ones(2, 3, dtype=dtype, device="reference")
        given = {**DRAW, "kind": x._kind, "input": x, "x": x}
        if op.tensors:
            given["p"] = (
                DRAW["p"] if "x" in op.names or "input" in op.names else x * 0.5
            )
        yield [given[name] for name in op.names]
        return
    for case in islice(cases_of(op, dtype), 12 if op.name in BY_VALUES else 4):
        if op.name == "assign_" and len({a.shape for a in case.args}) > 1:
            continue  # it does not broadcast
        args, kwargs = reference().arguments(op, Example(case), dtype)
        yield op.bind(args, kwargs)


def calls_of(op: Op, dtype: dt.dtype) -> Iterator[tuple[Any, Any]]:
    """Prepared inputs and normalised attributes."""
    for values in arguments(op, dtype):
        inputs = prepare(op, op.operands(values))
        lead = lead_of(op, inputs)
        ndim = 0 if lead is None else lead.ndim
        yield inputs, op.normalise(values, ndim)


def specs(inputs: Any) -> list[Any]:
    return [
        None if x is None else specs(x) if isinstance(x, list) else spec_of(x)
        for x in inputs
    ]


def fresh(inputs: Any) -> tuple[Any, ...]:
    """The same inputs in memory of their own."""
    return tuple(
        None if x is None else list(fresh(x)) if isinstance(x, list) else x.clone()
        for x in inputs
    )


def by_body(op: Op, inputs: Any, attrs: Any, kind: Any) -> Any:
    with no_grad():
        return run_body(op, inputs, attrs, kind)


@pytest.mark.parametrize("op", declared(), ids=lambda op: op.name)
def test_the_graph_is_the_op(op: Op) -> None:
    """A lowered op holds primitives only, and gives its body's bits; or a reason."""
    if op.shape is DATA or op.name in BY_VALUES:
        refused = 0
        for dtype in DTYPES:
            for inputs, attrs in calls_of(op, dtype) if dtype in op.accepts else ():
                try:
                    op.lower(specs(inputs), attrs)
                except NotSupported:
                    refused += 1
        assert refused, "it has a graph: take it off the list"
        return
    tried = 0
    for dtype in DTYPES:
        if dtype not in op.accepts:
            continue
        for inputs, attrs in calls_of(op, dtype):
            tried += 1
            check(op, inputs, attrs)
    assert tried or not op.accepts & set(DTYPES)


def check(op: Op, inputs: Any, attrs: Any) -> None:
    graph = op.lower(specs(inputs), attrs)
    assert_primitive(graph)
    kind = next((x._kind for x in flat(inputs) if x is not None), attrs.get("kind"))
    mine, theirs = fresh(inputs), fresh(inputs)
    found = interpret(graph, mine, "reference")
    if is_primitive(op, kind):
        wanted = results_of(op, theirs, attrs)
    else:
        wanted = by_body(op, theirs, attrs, kind)
    for a, b in zip([*found, *flat(mine)], [*wanted, *flat(theirs)], strict=True):
        if a is not None:
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_array_equal(reference().values(a), reference().values(b))


def assert_primitive(graph: Graph) -> None:
    """No call of the graph could be lowered further."""
    for call in graph.calls:
        op = vocabulary[call.op]
        dtypes = {s.spec.dtype for s in call.slots()}
        dtypes |= {x.dtype for x in call.inputs if isinstance(x, Number)}
        dtypes |= {v.dtype for v in call.attrs.values() if isinstance(v, Placed)}
        assert op.view or op.memory or dtypes & op.primitive, call


def flat(inputs: Any) -> list[Any]:
    return [v for x in inputs for v in (x if isinstance(x, list) else [x])]


POOL = {
    "kernel_size": (2, 2), "stride": (1, 2), "padding": (0, 1), "dilation": (1, 1),
    "ceil_mode": True,
}  # fmt: skip
SOFTMAX = (vocabulary["softmax"], [Spec((3, 4), dt.float32)], {"dim": -1})


def test_a_graph_is_remembered() -> None:
    """Lowering the same call twice traces once; another one is not confused with it."""
    op, given, attrs = SOFTMAX
    assert op.lower(given, attrs) is op.lower(given, attrs)
    assert op.lower(given, attrs) != op.lower(given, {"dim": 0})
    filled = vocabulary["filled"], [Spec((2,), dt.float32)]
    texts = {
        str(filled[0].lower(filled[1], {"value": v})) for v in (0.0, -0.0, 0, False)
    }
    assert len(texts) == 4


def test_a_graph_is_plain_data() -> None:
    """Through JSON and back it is the same graph, whatever its attributes."""
    logits = [Spec((3, 4), dt.float32), Spec((3,), dt.int64), None]
    for op, given, attrs in (
        SOFTMAX,
        (vocabulary["cross_entropy"], logits, {}),
        (vocabulary["zeros_like"], [Spec((2,), dt.complex64)], {}),
        (vocabulary["amax"], [Spec((2, 0), dt.float16)], {"dim": 0}),
        (vocabulary["max_pool"], [Spec((1, 1, 4, 4), dt.float32)], POOL),
    ):
        graph = op.lower(given, attrs)
        assert Graph.from_data(json.loads(json.dumps(graph.to_data()))) == graph


def test_nothing_runs() -> None:
    """Lowering takes no values: a graph is the same for a device that has no memory."""
    graph = vocabulary["gelu"].lower([Spec((1 << 40,), dt.float32)], {})
    assert graph.results[0].spec == Spec((1 << 40,), dt.float32)


def test_a_listing_reads_well() -> None:
    """A graph prints as its calls, with dtypes, shapes and versions."""
    text = str(SOFTMAX[0].lower(*SOFTMAX[1:]))
    assert text.startswith("softmax(%0: float32[3, 4]):")
    assert re.search(r"\n  %(\d+): float32\[3, 4\] = exp\(%\d+\)\n", text)
    assert re.search(r"\n  return %\d+$", text)


def test_checks_are_results() -> None:
    """What a check asks of values is in the graph, and refuses them there."""
    given = [Spec((5, 3), dt.float32), Spec((2,), dt.int64)]
    graph = vocabulary["index_select"].lower(given, {"dim": 0})
    assert [op for _, op in graph.checks] == ["index_select"]
    x = dt.ones(5, 3)
    assert interpret(graph, [x, dt.tensor([4, 0])])[0].shape == (2, 3)
    with pytest.raises(IndexError, match="index_select"):
        interpret(graph, [x, dt.tensor([5, 0])])


def test_writes_are_versions() -> None:
    """A write in place is a call, after which its slot has another version."""
    op = vocabulary["index_put_"]
    given = [Spec((4,), dt.float32), Spec((), dt.float32), [Spec((2,), dt.int64)]]
    graph = op.lower(given, {"accumulate": True})
    written = [
        c for c in graph.calls if graph.inputs[0].number in [s.number for s in c.writes]
    ]
    assert [s.version for c in written for s in c.writes] == [1]


def test_another_layout_is_another_graph() -> None:
    """What a body decides by strides, it decides by those it is lowered for."""
    x = dt.arange(6.0).reshape(2, 3).t()
    graph = vocabulary["softmax"].lower([spec_of(x)], {"dim": 0})
    assert graph.inputs[0].spec.strides == (1, 3)
    np.testing.assert_array_equal(
        interpret(graph, [x])[0].numpy(), interpret(graph, [x.contiguous()])[0].numpy()
    )
