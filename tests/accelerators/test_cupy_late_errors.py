"""Errors that CuPy devices tell late: kernels stay in memory, and waits tell."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.meta.planted import device, verdict

import dovetail as dt
from dovetail.conformance.verdicts import Outcome
from dovetail.device_api import LateErrors
from dovetail.nn import functional as F
from dovetail_cupy.backend import CupyBackend
from dovetail_cupy.streams import Moment, Queue
from dovetail_strict.backend import StrictBackend


class Late(LateErrors, StrictBackend):
    """CuPy's kernels on arrays whose indices wrap, and waits that tell."""

    def copy_out(self, a: Any) -> np.ndarray[Any, Any]:
        found = super().copy_out(a)
        self.tell(0)
        return found

    def synchronize(self, index: int) -> None:
        super().synchronize(index)
        self.tell(index)


def test_the_law_holds_for_the_shared_kernels() -> None:
    """No call waits for its own flag, and the next wait tells."""
    assert verdict(Late, "late_errors", "-").outcome is Outcome.PASSED


X, ONES = dt.arange(12.0).reshape(4, 3), dt.ones(2, 3)
FAR, HERE = dt.tensor([1, 1 << 20]), dt.tensor([1, 3])
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "gather": lambda x, i, y: x.gather(0, i[:, None]),
    "index_select": lambda x, i, y: x.index_select(1, i),
    "embedding": lambda x, i, y: F.embedding(i, x),
    "indexing": lambda x, i, y: x[i],
    "scatter": lambda x, i, y: x.scatter(0, i[:, None], y),
    "scatter_add": lambda x, i, y: x.scatter_add(0, i[:, None], y),
    "index_copy": lambda x, i, y: x.index_copy(0, i, y),
    "index_add": lambda x, i, y: x.index_add(0, i, y),
    "index_put": lambda x, i, y: x.index_put((i,), y, accumulate=True),
    "cross_entropy": lambda x, i, y: F.cross_entropy(y, i),
    "log_softmax": lambda x, i, y: F.nll_loss(y.log_softmax(1), i),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_do_not_wait_and_stay_in_memory(name: str) -> None:
    """Indices out of range are told by the next wait, and good calls are right."""
    with device(Late) as there:
        x, far, y, here = (v.to(there) for v in (X, FAR, ONES, HERE % 3))
        CALLS[name](x, far, y)
        with pytest.raises(IndexError, match=r"1048576|out of bounds"):
            dt.synchronize(there)
        want = CALLS[name](X, HERE % 3, ONES)
        assert np.allclose(CALLS[name](x, here, y).cpu().numpy(), want.numpy())


def test_nothing_is_taken_from_no_rows() -> None:
    """Where no index is one within, the call is refused at once."""
    with device(Late) as there:
        empty, i = dt.zeros(0, 3, device=there), HERE.to(there)
        for call in ("gather", "index_select", "embedding", "index_add"):
            with pytest.raises(IndexError):
                CALLS[call](empty.t() if call == "index_select" else empty, i,
                            ONES.to(there))  # fmt: skip


class Waits(CupyBackend):
    """CuPy's waits, and what they told."""

    type = "cuda"

    def __init__(self) -> None:
        self.told: list[int] = []
        self.xp = SimpleNamespace(asnumpy=lambda a, order: np.zeros(2))
        self.in_flight = SimpleNamespace(settle=lambda: None)

    def on(self, index: int) -> Any:
        """No device."""
        return nullcontext(SimpleNamespace(synchronize=lambda: None))

    def inside(self, index: int, function: Any, *args: Any, **options: Any) -> Any:
        """Here."""
        return function(*args, **options)

    def tell(self, index: int) -> None:
        """Write down who asks."""
        self.told.append(index)


def test_every_wait_tells() -> None:
    """That of the device, of a stream, of an event, and of a copy to the host."""
    waits = Waits()
    there = SimpleNamespace(synchronize=lambda: None)
    waits.copy_out(SimpleNamespace(device=SimpleNamespace(id=1)))
    waits.synchronize(2)
    waits.synchronize_stream(Queue(3, there))
    waits.synchronize_event(Moment(4, there))
    assert waits.told == [1, 2, 3, 4]
