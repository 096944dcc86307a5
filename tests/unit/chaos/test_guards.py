"""The chaos device catches programs that break the rules of memory and time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.chaos import DEVICE, Broken
from tests.support.dense import registered

import dovetail as dt
from dovetail import nn
from dovetail.device_api import registry
from dovetail.errors import (
    IndexOutOfRange,
    KernelError,
)
from dovetail.testing import chaos
from dovetail.testing.chaos_device.memory import guard, poison

# ---- poison and guards


def test_fresh_memory_is_poisoned() -> None:
    """`empty` holds NaN, large odd numbers, alternating bools."""
    assert dt.empty(3, device=DEVICE).isnan().all()
    assert dt.empty(3, device=DEVICE, dtype=dt.int32).tolist() == [0x5A5A5A5B] * 3
    assert dt.empty(3, device=DEVICE, dtype=dt.bool).tolist() == [True, False, True]
    with chaos(poison=False, guard=False):
        dt.empty(3, device=DEVICE)


@pytest.mark.parametrize("dtype", sorted(registry.load("cpu").dtypes, key=str), ids=str)
def test_poison_is_conspicuous(dtype: Any) -> None:
    """In every dtype poison is what no program expects, and guards are of its kind."""
    for values in (poison(dtype, 6), guard(dtype)):
        assert values.dtype == dtype.numpy
        if dtype.is_inexact:
            assert np.isnan(values.astype(np.complex128)).all()
        elif dtype is not dt.bool:
            assert (values % 2 == 1).all()
            assert (values > 64).all()


@pytest.mark.parametrize(
    ("op", "words"),
    [
        ("exp", r"exp: kernel is writing behind its float32 array of shape \(3,\)"),
        ("log", r"log: kernel is writing before its float32 array of shape \(3,\)"),
        ("cos", "cos: kernel's result is one of its arguments, needed a fresh array"),
        ("sqrt", "sqrt: kernel's result is float64, needed float32"),
        ("tanh", r"tanh: kernel's result is of shape \(2,\), needed \(3,\)"),
        ("floor", "floor: kernel is failing with ZeroDivisionError: no such unit"),
    ],
)
def test_broken_kernels_are_named(broken: Any, op: str, words: str) -> None:
    """A wait raises what a kernel did wrong, and names the op it did it in."""
    with pytest.raises(KernelError, match=words):
        dt.synchronize(getattr(broken, op)().device)


def test_reading_behind_an_array_gives_poison(broken: Any) -> None:
    """A kernel that reads outside of its input has NaN in its result."""
    assert np.isnan(broken.sin().cpu().numpy()[-1])


def test_reading_what_was_never_written_gives_poison(broken: Any) -> None:
    """A momentum that is used before it holds something is NaN."""
    p = nn.Parameter(broken)
    p.grad = broken * 1
    dt.optim.SGD([p], lr=0.1, momentum=0.9).step()
    assert p.isnan().all()


def test_a_view_cannot_leave_its_memory() -> None:
    """Strides that reach outside are refused by the device itself."""
    backend, _ = registry.resolve(DEVICE)
    x = dt.zeros(4, device=DEVICE)
    with pytest.raises(KernelError, match="view is from element 0 to 4"):
        backend.view(x._a, (5,), (1,), 0)


# ---- asynchronous errors


def test_an_error_waits_for_a_wait(broken: Any) -> None:
    """It is sticky until a wait raises it once; what came of it stays unusable."""
    y = broken.floor() + 1
    with pytest.raises(KernelError, match="floor"):
        dt.synchronize("chaos:broken")
    dt.synchronize("chaos:broken")
    with pytest.raises(KernelError, match="floor"):
        y.tolist()
    assert (broken + 1).tolist() == [2.0, 3.0, 4.0]


def test_a_wait_for_something_else_raises_it(broken: Any) -> None:
    """No value leaves the device past an error that nobody has heard of."""
    broken.floor()
    with pytest.raises(KernelError, match="floor"):
        (broken + 1).tolist()


def test_the_end_of_chaos_is_a_wait() -> None:
    """Errors that nobody waited for are raised there."""
    with pytest.raises(KernelError, match="floor"), registered(Broken()), chaos():
        dt.ones(3, device="chaos:broken").floor()


def test_an_index_out_of_range_is_heard_of_at_the_wait() -> None:
    """It is raised there by its own class; what was to be written has no values."""
    with chaos(seed=2):
        x, other = dt.zeros(3, device=DEVICE), dt.zeros(3, device=DEVICE)
        index = dt.tensor([9], device=DEVICE)
        with pytest.raises(IndexOutOfRange, match="out of bounds"):
            x.index_add_(0, index, dt.ones(1, device=DEVICE)).tolist()
        with pytest.raises(IndexOutOfRange, match="out of bounds"):
            x.tolist()
        assert other.tolist() == [0.0, 0.0, 0.0]


def test_what_core_refuses_is_refused_at_once() -> None:
    """Shapes that do not fit need no wait."""
    with pytest.raises(dt.errors.ShapeError):
        dt.ones(2, device=DEVICE) + dt.ones(3, device=DEVICE)
