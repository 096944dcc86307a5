"""The shared kernels keep to what CuPy can do, and wait for nothing undeclared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.support import kit
from tests.third_party.test_lockstep_on_fake import (
    attention,
    convolutional,
    perceptron,
)

from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check
from dovetail.device_api import registry
from dovetail.device_api.discovery import entry_of
from dovetail.engine.op import Op, declared
from dovetail.testing import lockstep
from dovetail_cupy.shared_kernels import WAITS
from dovetail_strict import waits
from dovetail_strict.array import StrictArray
from dovetail_strict.backend import StrictBackend
from dovetail_strict.library import Library

OPS = declared()
xp = Library()
A = StrictArray(np.arange(6.0).reshape(2, 3))
NOT_FINITE = StrictArray(np.array([np.nan, 1, np.nan]))
REFUSED: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "NumPy's arrays": (TypeError, lambda: A + np.ones(3)),
    "becoming NumPy's": (TypeError, lambda: np.asarray(A)),
    "where=": (TypeError, lambda: xp.add(A, A, where=A > 0)),
    "NumPy's memory as out=": (TypeError, lambda: xp.add(A, A, out=np.ones((2, 3)))),
    "out of matmul by position": (TypeError, lambda: xp.matmul(A, A, A)),
    "reduce": (NotImplementedError, lambda: xp.maximum.reduce(A)),
    "accumulate": (NotImplementedError, lambda: xp.maximum.accumulate(A)),
    "at": (NotImplementedError, lambda: xp.multiply.at(A, 0, 1.0)),
    "at of bytes": (TypeError, lambda: xp.add.at(xp.zeros(2, "int8"), xp.arange(2), 1)),
    "the axis of a number": (np.exceptions.AxisError, lambda: A[0, 0].sum(axis=0)),
    "names that CuPy lacks": (AttributeError, lambda: xp.nan_to_nun),
    "lists to join": (TypeError, lambda: xp.concatenate(([True], A[0] > 0))),
}


@pytest.fixture(scope="module", autouse=True)
def _device() -> Iterator[None]:
    """The device, where its distribution is not installed; nothing runs on the host."""
    if entry_of("strict") is None:
        registry.register(StrictBackend())
    with kit.no_host():
        yield


@pytest.fixture(scope="module")
def checks() -> dict[str, list[Check]]:
    """What the kit has to prove of results, by op."""
    return kit.planned(Subject("strict:0"), laws="forward", budget=kit.SMALL)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_kernels(op: Op, checks: dict[str, list[Check]]) -> None:
    """Each op is right under CuPy's rules, and reads values only where declared."""
    waits.counted.clear()
    kit.assert_proven(
        Subject("strict:0"), kit.sampled(checks.get(op.name, ())), kit.SMALL
    )
    assert {name for name, _ in waits.counted if name} <= WAITS


@pytest.mark.parametrize("step", [perceptron, convolutional, attention])
def test_training(step: Any) -> None:
    """Each op of a training step is as near to the CPU's as its rounding allows."""
    report = lockstep(step, "strict", "cpu", folder=None)
    assert report.ok
    assert not report.uncompared


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    """What CuPy refuses raises."""
    kind, call = REFUSED[what]
    with pytest.raises(kind):
        call()


def test_results_are_arrays() -> None:
    """A sum of all elements has no dims, and is an array."""
    assert type(A.sum()) is type(xp.add.reduce(A, (0, 1))) is StrictArray


def test_indices_out_of_range_wrap() -> None:
    """What is out of range is not told, but read from somewhere."""
    places = xp.asarray([4, -5])
    assert A.take(places).tolist() == [4.0, 1.0]
    assert A[0][places].tolist() == [1.0, 1.0]


def test_several_nans() -> None:
    """Of several NaNs another than the first is named."""
    assert int(xp.argmax(NOT_FINITE)) == int(NOT_FINITE.argmin()) == 2


@pytest.mark.parametrize(
    "ask",
    [bool, float, lambda a: a.item(), lambda a: a[a > 0], xp.flatnonzero],
    ids=["bool", "float", "item", "mask", "flatnonzero"],
)
def test_waits_are_counted(ask: Callable[[Any], Any]) -> None:
    """Whatever reads a value is counted."""
    waits.counted.clear()
    ask(A.sum())
    assert sum(waits.counted.values()) == 1
