"""The host fallback: refused, announced or silent, and always counted."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance.reference import ReferenceBackend
from dovetail.device_api import KernelTable, registry
from dovetail.errors import ArgumentError, FallbackError, FallbackWarning
from dovetail.ops import primitive

MISSING = ("sin", "iota", "scatter_add_", "maximum")


class Incomplete(ReferenceBackend):
    """Level 0 but for a few primitives."""

    type = "incomplete"

    def kernels(self, table: KernelTable) -> None:
        full = KernelTable(self.type)
        super().kernels(full)
        for op in full.names():
            if op not in MISSING:
                for kernel in full._kernels[op]:
                    options = {
                        n: getattr(kernel, n)
                        for n in ("binds", "broadcasts", "checks", "contiguous")
                    }
                    table.add(op, kernel.function, dtypes=kernel.dtypes, **options)


@pytest.fixture(autouse=True)
def _incomplete() -> Iterator[None]:
    """A backend that lacks `MISSING`, and the policy as it was."""
    policy = dt.get_fallback_policy()
    registry.register(Incomplete())
    dt.reset_fallbacks()
    yield
    registry.unregister("incomplete")
    dt.set_fallback_policy(policy)
    dt.reset_fallbacks()


def ones(*size: int, **options: object) -> dt.Tensor:
    return dt.ones(*size, device="incomplete", **options)


def test_error_is_a_policy() -> None:
    """Under `error`, the op, the device, the dtype and both remedies are named."""
    dt.set_fallback_policy("error")
    x = ones(2)
    with pytest.raises(FallbackError) as caught:
        dt.sin(x)
    assert str(caught.value) == (
        "sin: device is incomplete:0 with float32, for which it has neither a kernel "
        "nor a body, needed a kernel, or a fallback policy other than error; use "
        'dovetail.set_fallback_policy("warn") or register a kernel'
    )
    assert dt.fallbacks() == {}


def test_warn_is_the_default() -> None:
    """Under `warn`, each op warns once and runs on the host every time."""
    assert dt.get_fallback_policy() == "warn"
    with pytest.warns(FallbackWarning) as caught:
        y = dt.sin(ones(2))
    assert str(caught[0].message) == (
        "sin has no kernel on incomplete:0 and runs on the host; dovetail.fallbacks() "
        "lists such ops"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dt.sin(ones(2))
    assert str(y.device) == "incomplete:0"
    assert y.cpu().tolist() == pytest.approx([np.sin(1)] * 2)


def test_allow_is_silent_but_counted() -> None:
    """Under `allow`, nothing is said; each run on the host counts."""
    dt.set_fallback_policy("allow")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            dt.sin(ones(2))
        primitive.maximum(ones(2), ones(2))
    assert dt.fallbacks() == {("sin", "incomplete"): 3, ("maximum", "incomplete"): 1}


def test_counters_start_anew() -> None:
    """`reset_fallbacks` forgets the counts and the warnings given."""
    with pytest.warns(FallbackWarning):
        dt.sin(ones(2))
    dt.reset_fallbacks()
    assert dt.fallbacks() == {}
    with pytest.warns(FallbackWarning):
        dt.sin(ones(2))


def test_within_a_body() -> None:
    """A composed op that needs a missing primitive is counted under that primitive."""
    dt.set_fallback_policy("allow")
    dt.relu(ones(2))
    assert set(dt.fallbacks()) <= {("maximum", "incomplete")}
    dt.tan(ones(2))
    assert ("sin", "incomplete") in dt.fallbacks()


def test_gradients_through_the_host() -> None:
    """An op on the host is differentiated like any other."""
    dt.set_fallback_policy("allow")
    x = ones(2, requires_grad=True)
    dt.sin(x).sum().backward()
    assert x.grad is not None
    assert str(x.grad.device) == "incomplete:0"
    assert x.grad.cpu().tolist() == pytest.approx([np.cos(1)] * 2)


def test_writes_through_the_host() -> None:
    """An op that writes its argument writes the device's memory."""
    dt.set_fallback_policy("allow")
    x = dt.zeros(3, device="incomplete")
    index = dt.tensor([0, 0, 2], device="incomplete")
    primitive.scatter_add_(x, index, ones(3), 0)
    assert x.cpu().tolist() == [2.0, 0.0, 1.0]
    assert x._version == 1


def test_creation_on_the_host() -> None:
    """An op without inputs runs on the host, and its result is on the device."""
    dt.set_fallback_policy("allow")
    x = dt.arange(4, device="incomplete")
    assert (str(x.device), x.cpu().tolist()) == ("incomplete:0", [0, 1, 2, 3])
    assert ("iota", "incomplete") in dt.fallbacks()


def test_the_cpu_has_no_host() -> None:
    """On the CPU itself, a missing kernel is an error under every policy."""
    dt.set_fallback_policy("allow")
    cpu = registry.load("cpu").table
    kernels = cpu._kernels["sin"]
    cpu._kernels["sin"] = []
    cpu.changed()
    try:
        with pytest.raises(FallbackError, match="sin: device is cpu with float32"):
            dt.sin(dt.ones(2))
    finally:
        cpu._kernels["sin"] = kernels
        cpu.changed()


def test_unknown_policy() -> None:
    """The policies there are, are named."""
    with pytest.raises(ArgumentError) as caught:
        dt.set_fallback_policy("maybe")
    assert str(caught.value) == (
        "set_fallback_policy: policy is 'maybe', needed one of error, warn, allow"
    )
    assert dt.get_fallback_policy() == "warn"
