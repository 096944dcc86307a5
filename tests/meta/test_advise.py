"""What to write next: the primitives that unlock most, then the kernels that pay."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from tests.meta.report_data import full

from dovetail.conformance.advise import advise
from dovetail.conformance.bodies import measure, parts
from dovetail.conformance.report import build
from dovetail.conformance.run import RunRecord
from dovetail.conformance.unlocks import dependents, uses
from dovetail.conformance.workloads import WORKLOADS, hot, uses_of
from dovetail.engine.op import vocabulary


@pytest.fixture(scope="module")
def composed() -> RunRecord:
    """A device at level 1: primitives alone are native."""
    return full(native=False)


def without_kernels(run: RunRecord, *names: str) -> RunRecord:
    """The run of a device that lacks these kernels."""
    left = tuple(k for k in run.about.kernels if k not in names)
    return replace(run, about=replace(run.about, kernels=left))


def test_models_are_recorded_forward_backward_and_step() -> None:
    """A step of each model calls its layers, their gradients, the optimizer."""
    steps = uses_of()
    assert set(steps) == {work.name for work in WORKLOADS}
    for found in steps.values():
        assert found["adam_steps_"].calls == 1
    assert steps["convolutional network"]["convolution_weight"].calls == 2
    assert steps["language model"]["embedding"].elements > 0


def test_hot_ops_are_those_that_do_the_work() -> None:
    """Matrix products and optimizer steps are hot; filling a buffer is not."""
    assert {"matmul", "convolution", "adam_steps_", "mixture"} <= set(hot())
    assert not {"full", "sum_to", "assign_"} & set(hot())
    assert not any(vocabulary[name].view for name in hot())


def test_missing_primitives_are_ranked_by_what_they_unlock(composed: RunRecord) -> None:
    """Below level 0: the primitive that most ops come down to comes first."""
    found = advise(build(without_kernels(composed, "exp", "add", "sin")))
    assert found.primitives
    counts = [len(dependents()[c.op]) for c in found.candidates]
    assert {c.op for c in found.candidates} == {"exp", "add", "sin"}
    assert counts == sorted(counts, reverse=True)


def test_kernels_are_ranked_by_time(composed: RunRecord) -> None:
    """The op that takes most of the models' time comes first."""
    shares = {"MLP": {"gelu": 0.1, "softmax": 0.6}, "transformer block": {"gelu": 0.2}}
    found = advise(build(composed), shares)
    assert [c.op for c in found.candidates[:2]] == ["softmax", "gelu"]
    assert found.measured


def test_of_a_body_and_its_core_the_one_that_serves_more_is_first(
    composed: RunRecord,
) -> None:
    """Dropout's time is spent in random words, which other ops need too."""
    spent = {"random_dropout": 0.501, "random_mask": 0.5, "random_words": 0.499}
    found = advise(build(composed), {"MLP": spent})
    assert found.candidates[0].op == "random_words"
    assert "random_dropout" in found.candidates[0].unlocks
    assert found.candidates[0].share == {"MLP": 0.499}


def test_what_a_kernel_would_change_is_counted(composed: RunRecord) -> None:
    """Checks that would be native, calls by models, ops that would be faster."""
    found = {c.op: c for c in advise(build(composed)).candidates}
    softmax = [v for v in composed.verdicts if v.check.op == "softmax"]
    assert found["softmax"].checks == len(softmax) > 0
    assert found["linear"].models["MLP"] == 2
    assert "linear" in found["matmul"].unlocks
    assert "linear" in {op for op, inner in parts().items() if "matmul" in inner}


def test_nothing_is_advised_that_is_there(composed: RunRecord) -> None:
    """Ops with a kernel and views are not named; a full device has nothing to do."""
    named = {c.op for c in advise(build(composed)).candidates}
    assert not named & set(composed.about.kernels)
    assert not any(vocabulary[name].view for name in named)
    assert advise(build(full())).candidates == ()


def test_times_are_of_bodies_only() -> None:
    """On a device with few kernels, the hot ops without one take time."""
    found = measure("fake")
    assert set(found) == {work.name for work in WORKLOADS}
    for spent in found.values():
        assert all(0 <= share <= 1 for share in spent.values())
        assert "adam_steps_" in spent
        assert "bmm" not in spent
    assert found["MLP"]["random_words"] > 0


def test_bodies_are_themselves_again() -> None:
    """Measuring leaves no trace."""
    before = {op.name: op.body for op in vocabulary.values()}
    measure("fake")
    assert {op.name: op.body for op in vocabulary.values()} == before


def test_advice_is_told_and_written(composed: RunRecord) -> None:
    """The table has the first ones, the JSON all."""
    found = advise(build(composed), {"MLP": {"linear": 0.5}})
    shown = StringIO()
    Console(width=120, file=shown).print(found)
    assert "linear" in shown.getvalue()
    assert "50%" in shown.getvalue()
    document = json.loads(json.dumps(found.to_json()))
    assert len(document["candidates"]) == len(found.candidates)


def test_what_an_op_is_made_of_is_heard_whatever_ran_before() -> None:
    """Kernels that were bound for other calls are heard as those bound anew."""
    known = dependents()
    for name in ("softmax", "any", "convolution"):
        uses.cache_clear()
        for op in vocabulary.values():
            op.forget()
        made_of = uses(vocabulary[name])
        assert made_of == {p for p in known if name in known[p]}
        assert "sum" in made_of
