"""`lockstep` names the op at which two devices part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import steps
from tests.support.broken import broken
from tests.support.steps import (
    FLOAT_OPS,
    convolutional,
    first,
    gated,
    long_sums,
    one_call,
    perceptron,
)

import dovetail as dt
import dovetail.conformance.oracle
from dovetail import nn, optim
from dovetail.conformance import reference
from dovetail.device_api import registry
from dovetail.engine.cases import cases_of
from dovetail.errors import ArgumentError
from dovetail.testing import lockstep


def test_reduced_precision_is_found() -> None:
    """Products in TF32 are beyond tolerance, also with many terms."""
    with broken("linear", "tf32") as device:
        found = first(long_sums, device)
    assert (found.op, found.place.module) == ("linear", "Sequential/0.Linear")


@pytest.mark.slow
def test_an_error_of_1e_4_is_beyond_tolerance_in_every_op() -> None:
    """The tolerance is no wider than rounding needs: each spoilt kernel is found."""
    found = 0
    for op in FLOAT_OPS:
        for case in cases_of(op, dt.float32):
            with broken(op.name, "scaled") as device:
                report = lockstep(
                    one_call(op, case), device, folder=None, raise_on_divergence=False
                )
            spoilt = report.ops.get(op.name)
            missed = report.ok and spoilt is not None and spoilt.worst > 3e-5
            assert not missed, op.name
            found += not report.ok
    assert found > 400


FAULTS = [
    (gated, "softmax", "scaled", "value", "forward", "Sequential/1.Softmax"),
    (gated, "linear", "scaled", "value", "forward", "Sequential/0.Linear"),
    (gated, "softmax_backward", "scaled", "value", "backward", "Sequential/1.Softmax"),
    (gated, "argmax", "off_by_one", "value", "forward", ""),
    (gated, "sqrt", "lost_nan", "value", "forward", ""),
    (gated, "square", "fails", "raised", "forward", ""),
    (gated, "softmax", "writes_input", "input", "forward", "Sequential/1.Softmax"),
    (perceptron, "relu_backward", "no_gate", "value", "backward", "Sequential/1.ReLU"),
    (perceptron, "adam_steps_", "half_step", "value", "optimizer", ""),
    (convolutional, "sgd_steps_", "half_step", "value", "optimizer", ""),
    (convolutional, "convolution", "scaled", "value", "forward", "Sequential/0.Conv2d"),
]


@pytest.mark.parametrize(("step", "op", "fault", "kind", "phase", "module"), FAULTS)
def test_a_fault_is_named(
    step: Callable[[str], Any], op: str, fault: str, kind: str, phase: str, module: str
) -> None:
    """The op at fault is the first divergence, in its phase, module and line."""
    with broken(op, fault) as device:
        found = first(step, device)
    assert (found.op, found.kind) == (op, kind)
    assert (found.place.phase, found.place.module) == (phase, module)
    assert Path(found.place.line.rpartition(":")[0]) == Path(steps.__file__)


def test_a_write_in_place_is_compared() -> None:
    """An op that writes its input is judged by what it wrote."""

    def step(device: str) -> Any:
        leaf = nn.Parameter(dt.ones(5, device=device))
        leaf.grad = dt.ones(5, device=device)
        optim.SGD([leaf], 0.1, 0.9).step()
        return leaf

    with broken("sgd_steps_", "last_kept") as device:
        found = first(step, device)
    assert found.difference is not None
    assert found.difference.what == "params[0] as written"
    assert (found.difference.index, found.difference.got) == ((4,), "1.0")


def test_a_gradient_names_the_op_that_it_belongs_to() -> None:
    """In backward the forward op and its line are told beside the caller's."""
    with broken("relu_backward", "no_gate") as device:
        found = first(perceptron, device)
    assert found.place.gradient_of == "relu"
    assert found.place.origin.rpartition(":")[0] == steps.__file__
    assert found.place.origin != found.place.line


def test_the_op_within_a_body_is_named() -> None:
    """Where an op runs by its definition, the kernel at fault is within it."""

    class Thin(reference.ReferenceBackend):
        type = "thin"

        def kernels(self, table: Any) -> None:
            super().kernels(table)
            (kernel,) = table._kernels["exp"]
            right = kernel.function
            table.add(
                "exp", lambda x: right(x) * (1 + x * np.float32(1e-3)),
                dtypes=kernel.dtypes, rank=1, broadcasts=True,
            )  # fmt: skip

    registry.register(Thin())
    try:
        found = first(gated, "thin")
    finally:
        registry.unregister("thin")
    assert (found.op, found.within) == ("softmax", "exp")


def test_the_worst_element_is_told() -> None:
    """A divergence has inputs, index, values, and its error in ulp."""
    with broken("softmax", "scaled") as device:
        found = first(gated, device)
    assert [i.partition(" ")[2] for i in found.inputs] == ["float32[12, 16]"]
    worst = found.difference
    assert worst is not None
    assert worst.size == 12 * 16
    assert worst.relative == pytest.approx(1e-4, rel=1e-2)
    assert 800 < worst.ulp < 1700  # 1e-4 is 839 to 1678 ulp of float32


def test_a_layout_at_fault_is_named() -> None:
    """A kernel that ignores strides is found, and the strides are told."""

    def step(device: str) -> Any:
        return dt.randn(3, 4, device=device).t().exp()

    with broken("exp", "only_strided") as device:
        found = first(step, device)
    (told,) = found.inputs
    assert told.endswith(" float32[4, 3] strides (1, 4)")


def test_the_first_of_several_is_told_and_all_are_counted() -> None:
    """The step goes on after a divergence, each op with the inputs it gets."""
    with broken("linear", "scaled") as device:
        report = lockstep(perceptron, device, folder=None, raise_on_divergence=False)
    assert report.first is not None
    assert report.first.place.module == "Sequential/0.Linear"
    assert (report.ops["linear"].calls, report.ops["linear"].beyond) == (4, 4)
    assert sum(r.beyond for r in report.ops.values()) == 4


def test_a_tolerance_of_ones_own() -> None:
    """`rtol` and `atol` replace the tolerance by format; integers stay exact."""
    with broken("softmax", "scaled") as device:
        assert lockstep(gated, device, folder=None, rtol=1e-3, atol=0.5).ops
        assert first(gated, device, rtol=1e-5).op == "softmax"
    with broken("argmax", "off_by_one") as device:
        assert first(gated, device, rtol=10.0, atol=10.0).op == "argmax"
    with pytest.raises(ArgumentError, match="rtol is -1, needed at least 0"):
        lockstep(gated, "cpu", rtol=-1)
