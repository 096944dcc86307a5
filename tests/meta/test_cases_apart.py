"""Each sample call of an op draws all of its own arrays.

The kit draws one call of many, of grown sizes, and passes the others by.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.sizes import AS_NAMED
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import DType
from dovetail.engine.cases import Sampler, case, numbered_calls
from dovetail.engine.op import Op, declared, vocabulary


class Passing(Varied):
    """Draws for calls that are passed by from a seed of its own."""

    def __init__(self, op: Op, dtype: DType, seed: int) -> None:
        super().__init__(op, dtype, ORDINARY, AS_NAMED, 5)
        self.seed = seed

    def turn_to(self, wanted: bool) -> None:
        plain = Sampler(self.op, self.dtype, self.seed)
        self._turn.plain = None if wanted else plain


def depend(op: Op, dtype: DType) -> Iterator[int]:
    """The numbers of the calls that are others if those before them are."""
    for number in range(len(list(numbered_calls(op, Sampler(op, dtype))))):
        one, other = (
            text(dict(numbered_calls(op, Passing(op, dtype, seed), number))[number])
            for seed in (1, 2)
        )
        if one != other:
            yield number


def text(value: Any) -> Any:
    """All of what arguments hold."""
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape, value.tobytes()
    if isinstance(value, (list, tuple)):
        return [text(v) for v in value]
    return {k: text(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("dtype", [dt.float32, dt.int32])
def test_sample_calls_share_nothing(dtype: DType) -> None:
    """Whatever is drawn for calls that are passed by, a call is the same."""
    vocabulary.complete()
    found = {
        op.name: list(depend(op, dtype))
        for op in declared()
        if dtype in op.accepts and (op.cases is not None or not op.rest)
    }
    assert {name: calls for name, calls in found.items() if calls} == {}
    assert len(found) > 150


def test_calls_that_share_an_array_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second call of two with one array, and what is made of one."""

    def cases(make: Sampler) -> Any:
        x = make(3, 3)
        yield case(x, make(3, 3))
        yield case(make(3, 3), x)
        yield case(make(3, 3), make(3, 3))
        yield case(make(3, 3), x + 1)

    op = vocabulary["matmul"]
    monkeypatch.setattr(op, "cases", cases)
    assert list(depend(op, dt.float32)) == [1, 3]
