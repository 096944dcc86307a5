"""Every op of the vocabulary, proven from its declaration alone.

A new op needs no test here: its cases and its oracle are the test.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support import bare, laws

import dovetail as dt
from dovetail.core.op import Op, declared

OPS = declared()
DIFFERENTIABLE = [
    op for op in OPS
    if not op.nondifferentiable and not op.mutates and dt.float64 in op.accepts
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _bare_device() -> Iterator[None]:
    bare.install()
    dt.set_fallback_policy("error")
    yield
    dt.set_fallback_policy("warn")


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_declared_whole(op: Op) -> None:
    """Each op has a docstring of one sentence or more, an oracle and cases."""
    assert op.doc, "no docstring"
    assert op.oracle is not None, "no oracle"
    dtype = laws.dtypes_of(op)[0]
    assert list(laws.cases_of(op, dtype)), "no cases"


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_oracle_on_cpu(op: Op) -> None:
    """Native kernels equal the oracle in every dtype."""
    for dtype in laws.dtypes_of(op):
        laws.obeys_oracle(op, dtype, "cpu")


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_oracle_on_primitives_alone(op: Op) -> None:
    """Bodies equal the oracle where a device has level-0 kernels and no other."""
    for dtype in laws.dtypes_of(op, (dt.float32, dt.int32, dt.bool)):
        laws.obeys_oracle(op, dtype, "bare")


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_rules(op: Op) -> None:
    """Inferred shapes and dtypes are the real ones."""
    for dtype in laws.dtypes_of(op):
        laws.rule_agrees(op, dtype)


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_gradients(op: Op) -> None:
    """Gradients equal finite differences, to second order."""
    laws.gradients_hold(op)
