"""Values that ops refuse: found by kernels, or by one read of a declared check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
import dovetail.nn.functional as F
from dovetail.conformance import reference
from dovetail.device_api import Backend, registry
from dovetail.engine.op import vocabulary

X = [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5], [6.5, 7.5, 8.5], [9.5, 0.25, 0.75]]
# What is called with an index tensor, and the first index that is out of range.
CALLS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "gather": (lambda x, i: x.gather(1, i.unsqueeze(0)), 3),
    "scatter": (lambda x, i: x.scatter(1, i.unsqueeze(0), x), 3),
    "scatter_add": (lambda x, i: x.scatter_add(1, i.unsqueeze(0), x), 3),
    "scatter_reduce": (lambda x, i: x.scatter_reduce(1, i.unsqueeze(0), x, "amax"), 3),
    "index_select": (lambda x, i: x.index_select(1, i), 3),
    "index_add": (lambda x, i: x.index_add(1, i, x[:, :2]), 3),
    "index_copy": (lambda x, i: x.index_copy(1, i, x[:, :2]), 3),
    "embedding": (lambda x, i: F.embedding(i, x), 4),
    "indexing": (lambda x, i: x[:, i], 3),
    "index_put": (lambda x, i: x.clone().index_put_((i,), x[:2]), 4),
    "cross_entropy": (lambda x, i: F.cross_entropy(x[:2], i), 3),
    "nll_loss": (lambda x, i: F.nll_loss(x[:2], i), 3),
}


@pytest.fixture
def device() -> Iterator[Backend]:
    """A device with level 0 alone, where bodies run."""
    reference.install()
    yield registry.load("reference")
    registry.unregister("reference")


@pytest.fixture
def reads(device: Backend, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the host has waited for."""
    found: list[Any] = []
    read = type(device).copy_out

    def copy_out(self: Backend, a: Any) -> Any:
        found.append(a)
        return read(self, a)

    monkeypatch.setattr(type(device), "copy_out", copy_out)
    return found


@pytest.mark.parametrize("name", CALLS)
def test_a_body_waits_once(name: str, reads: list[Any]) -> None:
    """A call on good indices waits for one flag, whatever it is made of.

    Values that meet are combined in rounds, and each round asks whether it is the last.
    """
    x, i = dt.tensor(X, device="reference"), dt.tensor([2, 0], device="reference")
    reads.clear()
    CALLS[name][0](x, i)
    assert len(reads) == (3 if name == "scatter_reduce" else 1)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("where", ["cpu", "reference"])
def test_a_bad_index_is_refused(name: str, where: str, device: Backend) -> None:
    """Kernels and checks refuse the same index, and name it."""
    call, bad = CALLS[name]
    x, i = dt.tensor(X, device=where), dt.tensor([0, bad], device=where)
    with pytest.raises(IndexError, match=rf"\b{bad}\b.*out of bounds"):
        call(x, i)
    assert x.tolist() == X


def test_a_kernel_that_does_not_look(device: Backend) -> None:
    """Core looks before a kernel that leaves it to core, not before another."""
    ran: list[Any] = []

    def kernel(a: Any, index: Any, dim: int) -> Any:
        ran.append(index)
        return np.zeros((a.shape[0], len(index)), a.dtype)

    x, i = dt.tensor(X, device="reference"), dt.tensor([0, 7], device="reference")
    device.table.add("index_select", kernel, dtypes=[dt.float32])
    with pytest.raises(IndexError, match="7"):
        x.index_select(1, i)
    assert not ran
    device.table.add(
        "index_select", kernel, dtypes=[dt.float32], rank=1, checks_indices=True
    )
    x.index_select(1, i)
    assert len(ran) == 1


def test_checks_are_declared_where_indices_are() -> None:
    """An op that takes indices and is no primitive declares a check, or needs none.

    Classes were checked forward, and `pick` gets the places that a search found. Taps
    may be outside, and of lengths and labels of sequences the nearest counts.
    """
    unneeded = {
        "cross_entropy_backward", "nll_loss_backward", "pick", "tap_sum", "tap_spread",
        "tap_dot", "ctc_losses", "ctc_shares",
    }  # fmt: skip
    found = {
        op.name for op in vocabulary.values()
        if op.indices and not op.primitive and op.check is None
    }  # fmt: skip
    assert found == unneeded
