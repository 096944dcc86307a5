"""Memory of the CPU in figures: what is counted, its peak, its limit, and the cost."""

from __future__ import annotations

import contextvars
import gc
import sys
import types
from collections.abc import Iterator

import numpy as np
import pytest
from tests.support.child import run

import dovetail as dt
from dovetail import accelerator
from dovetail.device_api import Pool, registry
from dovetail_cpu.backend import CpuBackend


@pytest.fixture(autouse=True)
def _counts_are_these_tests_own() -> Iterator[None]:
    """What other tests left behind dies neither before nor in the middle of a test."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    accelerator.set_memory_limit(None, "cpu")


def live() -> int:
    return accelerator.memory_allocated("cpu")


def test_results_are_counted_until_their_last_view_is_gone() -> None:
    """A kernel's result counts once, a view of it nothing, and both keep it in use."""
    x = dt.ones(100)
    before = live()
    y = x + x
    assert live() == before + 400
    view = y[10:].reshape(9, 10)
    del y
    assert live() == before + 400
    del view
    assert live() == before


@pytest.mark.parametrize("shape", [(), (7,), (3, 5)])
def test_each_way_to_make_a_tensor_is_counted(shape: tuple[int, ...]) -> None:
    """Fresh memory, values of the host, sums to a scalar, several results at once."""
    size = 4 * int(np.prod(shape))
    for make in (
        lambda: dt.empty(shape),
        lambda: dt.tensor(np.zeros(shape, "f4")),
        lambda: dt.full(shape, 2.0).exp(),
        lambda: dt.zeros(4, *shape).sum(0),
    ):
        before = live()
        made = make()
        assert live() == before + size
        del made
        assert live() == before


def test_several_results_are_all_counted() -> None:
    """Values and places of a sort, which one kernel gives."""
    x = dt.ones(10)
    before = live()
    found = dt.sort(x)
    assert live() >= before + 40 + 80
    del found
    assert live() == before


def test_a_kernel_may_have_an_argument_of_any_name() -> None:
    """While memory is counted, `kernel=` and its like reach the kernel."""
    live()
    x, w = dt.ones(1, 1, 4, 4), dt.ones(1, 1, 2, 2, requires_grad=True)
    dt.nn.functional.conv2d(x, w).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [[[[9.0, 9.0], [9.0, 9.0]]]]


def test_a_graph_keeps_memory_until_it_is_walked() -> None:
    """What backward needs is in use although no tensor holds it."""
    x = dt.ones(1000, requires_grad=True)
    before = live()
    y = (x * x).exp().sum()
    assert live() >= before + 4000
    y.backward()
    x.grad = None
    del y
    assert live() <= before + 4  # the number 1 that backward begins with


def test_lent_memory_counts_until_its_lender_frees_it() -> None:
    """NumPy's array behind a tensor is in use as long as NumPy holds it."""
    lent = np.ones(1000)
    before = live()
    x = dt.from_numpy(lent)
    assert live() == before + 8000
    del x
    assert live() == before + 8000
    del lent
    assert live() == before


def test_the_peak_is_the_most_at_once_since_it_was_reset() -> None:
    """It stays when memory is freed, and is what is in use after a reset."""
    x = dt.ones(1000) + 1
    top = accelerator.max_memory_allocated("cpu")
    assert top >= live()
    del x
    assert accelerator.max_memory_allocated("cpu") == top
    accelerator.reset_peak_memory_stats("cpu")
    assert accelerator.max_memory_allocated("cpu") == live()


def test_the_statistics_add_up() -> None:
    """What was allocated less what was freed is in use, in bytes and in blocks."""
    before = accelerator.memory_stats("cpu")
    x = dt.ones(10) + 1
    now = accelerator.memory_stats("cpu")
    assert now["allocation.all.current"] == before["allocation.all.current"] + 1
    for name in ("allocated_bytes.all", "allocation.all"):
        made, freed = now[f"{name}.allocated"], now[f"{name}.freed"]
        assert made - freed == now[f"{name}.current"]
    assert now["allocated_bytes.all.current"] == live()
    del x


def test_beyond_the_limit_memory_is_refused() -> None:
    """The result goes back at once, the refusal is counted, and small ones fit."""
    x = dt.ones(1000)
    before, refused = live(), accelerator.memory_stats("cpu")["num_ooms"]
    accelerator.set_memory_limit(before + 1000, "cpu")
    with pytest.raises(dt.OutOfMemoryError, match="the limit set"):
        x + x
    with pytest.raises(dt.OutOfMemoryError):
        dt.empty(1000)
    assert live() == before
    assert accelerator.memory_stats("cpu")["num_ooms"] == refused + 2
    small = dt.ones(100)
    assert live() == before + 400
    del small
    accelerator.set_memory_limit(None, "cpu")
    assert (x + x).sum().item() == 2000


@pytest.mark.parametrize("size", [-1, 1.5, True])
def test_a_limit_is_a_number_of_bytes(size: object) -> None:
    """Anything else is refused by name."""
    with pytest.raises(ValueError, match="set_memory_limit: size"):
        accelerator.set_memory_limit(size, "cpu")  # type: ignore[arg-type]


def test_a_device_that_does_not_count_says_so() -> None:
    """The error names the device and the capability."""
    with pytest.raises(dt.errors.NotSupported, match=r"meta.*Pool"):
        accelerator.memory_allocated("meta")


def test_nothing_is_looked_at_before_the_first_question() -> None:
    """Kernels are called by the context itself, and memory comes from the class."""
    backend = CpuBackend()
    plain = backend.runner(0)
    assert isinstance(plain, types.BuiltinMethodType)
    assert isinstance(plain.__self__, contextvars.Context)
    assert "empty" not in vars(backend)
    pool = backend.capability(Pool)
    assert pool is not None
    pool.live_bytes(0)
    assert not isinstance(backend.runner(0), types.BuiltinMethodType)


BEFORE_THE_QUESTION = """
import gc, threading
import dovetail as dt

gc.disable()
x = dt.ones(1000)
y = x[5:]
w = dt.ones(100, requires_grad=True)
kept = (w * 2).exp().sum()
go, done, end = threading.Event(), threading.Event(), threading.Event()
made = []
def work():
    x + 1  # this thread has called a kernel before
    done.set(); go.wait()
    made.append(x + 1)
    done.set(); end.wait()
thread = threading.Thread(target=work)
thread.start(); done.wait(); done.clear()
first = dt.accelerator.memory_allocated("cpu")
assert first >= 4000 + 400 + 400, first
go.set(); done.wait(); done.clear()
assert dt.accelerator.memory_allocated("cpu") == first + 4000
end.set(); thread.join(); made.clear()
assert dt.accelerator.memory_allocated("cpu") == first
del x
assert dt.accelerator.memory_allocated("cpu") == first
del y
assert dt.accelerator.memory_allocated("cpu") == first - 4000
"""


def test_what_was_there_before_the_first_question_is_counted() -> None:
    """Tensors, views and graphs that are older; threads that ran kernels before."""
    run(sys.executable, "-c", BEFORE_THE_QUESTION)


def test_the_kit_sees_the_cpu_count() -> None:
    """The capability is there, by which the kit judges the CPU's counts."""
    assert registry.load("cpu").capability(Pool) is not None
