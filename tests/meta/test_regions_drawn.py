"""What ops take together, along dims or in windows, is drawn of -inf alone as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.meta.mutants.mutant import Run, installed, with_faults

import dovetail as dt
from dovetail.conformance import laws  # noqa: F401  registers them
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.examples import examples
from dovetail.conformance.judge import judge
from dovetail.conformance.regions import regional
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check, Outcome
from dovetail.engine.op import vocabulary

STANDARD = BUDGETS["standard"]


def test_ops_that_reduce_and_those_with_windows_have_regions() -> None:
    """Ops of one operand do; what moves elements, or takes one by one, has none."""
    found = {name for name, op in vocabulary.items() if regional(op)}
    assert {"sum", "amax", "argmin", "logsumexp", "max_pool", "avg_pool"} <= found
    assert not {"exp", "add", "cat", "flip", "matmul", "softmax_backward"} & found


@pytest.mark.parametrize("name", ["amax", "sum", "var", "logsumexp"])
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64], ids=str)
def test_all_that_is_reduced_is_minus_infinity(name: str, dtype: dt.dtype) -> None:
    """In a call, all elements of one result at least, and more of them than a warp."""
    calls = examples(Subject("cpu"), vocabulary[name], dtype, STANDARD)
    most = 0
    for call in calls:
        a, *rest = call.case.args if call.case is not None else ((),)
        dim = call.case.kwargs.get("dim", rest[0] if rest else ()) if call.case else ()
        if call.values == "masked" and a.size:
            axes = (dim,) if isinstance(dim, int) else dim or tuple(range(a.ndim))
            whole = np.all(np.isneginf(a), axis=tuple(axes))
            most = max(most, a.size // max(whole.size, 1) if whole.any() else 0)
    assert most > 32


def from_the_least(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """A maximum begins at the least finite number."""
    y = np.array(run(*natives, **attrs))
    if y.dtype == np.float32:
        y = np.maximum(y, np.finfo(np.float32).min)
    return y


@pytest.mark.parametrize("name", ["amax", "max_pool"])
def test_a_maximum_that_does_not_begin_at_minus_infinity_is_caught(name: str) -> None:
    """Of nothing but -inf, the greatest is -inf."""
    with installed(with_faults({name: from_the_least}), "faulty") as device:
        verdict = judge(Subject(device), Check(name, "float32", "forward"), STANDARD)
    assert verdict.outcome is Outcome.WRONG
