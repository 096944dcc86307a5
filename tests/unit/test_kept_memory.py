"""Memory of large arrays is used again, and never while anything looks at it."""

from __future__ import annotations

import contextvars
import os
import sys
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import child

import dovetail as dt
from dovetail import accelerator
from dovetail.codegen.runtime.blocks import LEAST, Blocks

Array = np.ndarray[Any, Any]

if os.name != "posix":
    pytest.skip("memory is kept on POSIX systems", allow_module_level=True)

BLOCKS = Blocks()
CONTEXT = contextvars.Context()
CONTEXT.run(BLOCKS.use)


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    """Nothing is kept from other tests, and the limit is as it was."""
    BLOCKS.keep_at_most(None)
    yield
    BLOCKS.keep_at_most(None)


def within(make: Callable[..., Any], *args: Any) -> Any:
    """What a function makes where arrays get blocks."""
    return CONTEXT.copy().run(make, *args)


def test_the_next_array_gets_the_memory() -> None:
    """What one array gave back serves another of about its size, smaller or equal."""
    a = within(np.empty, 3 * LEAST, np.uint8)
    place = a.ctypes.data
    del a
    b = within(np.empty, 3 * LEAST - 1000, np.uint8)
    assert b.ctypes.data == place
    c = within(np.empty, 3 * LEAST, np.uint8)
    assert c.ctypes.data != place


def test_a_view_keeps_its_memory() -> None:
    """While a view is alive, nobody gets the memory that it looks into."""
    a = within(np.full, 1 << 20, 7.0)
    view = a[::1000].reshape(-1, 1)[5:]
    del a
    others = [within(np.zeros, 1 << 20) for _ in range(3)]
    assert (view == 7).all()
    assert not any(np.may_share_memory(view, x) for x in others)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), max_size=40))
def test_arrays_never_share(steps: list[tuple[int, int]]) -> None:
    """Whatever comes and goes in whatever sizes, each array keeps its own numbers."""
    BLOCKS.keep_at_most(30 * LEAST)
    held: list[tuple[Array, int]] = []
    for number, (drop, size) in enumerate(steps):
        if held and drop < 3:
            held.pop(drop * len(held) // 3)
        made = within(np.full, size * LEAST // 8 + number, number, np.uint8)
        held.append((made, number))
        assert all((x == value).all() for x, value in held)
        assert 0 <= BLOCKS.state.kept <= 30 * LEAST


def test_zeros_are_zeros_in_used_memory() -> None:
    """Memory that held something else is cleared for `zeros`."""
    within(np.full, 1 << 20, 3.0)
    reused = BLOCKS.state.reused
    assert not within(np.zeros, 1 << 20).any()
    assert BLOCKS.state.reused == reused + 1


@pytest.mark.parametrize("before", [100, 1 << 18])
@pytest.mark.parametrize("after", [10, 1000, 1 << 18, 1 << 19])
def test_resizing_keeps_the_elements(before: int, after: int) -> None:
    """An array that grows or shrinks, to a block or from one, has what it had."""

    def resized() -> Array:
        a = np.arange(before)
        a.resize(after, refcheck=False)
        return a

    a = within(resized)
    both = min(before, after)
    assert (a[:both] == np.arange(both)).all()
    assert not a[both:].any()


def test_what_is_kept_is_bounded_and_given_back() -> None:
    """The oldest blocks go beyond the limit, vast ones at once, all when asked for."""
    BLOCKS.keep_at_most(4 << 20)
    for _ in range(3):
        arrays = [within(np.ones, 1 << 17) for _ in range(8)]  # 1 MiB each
        del arrays
        assert 2 << 20 < BLOCKS.state.kept <= 4 << 20
    kept = BLOCKS.state.kept
    within(np.ones, 1 << 20)  # 8 MiB
    assert BLOCKS.state.kept == kept
    assert BLOCKS.release() == kept
    assert (BLOCKS.state.kept, BLOCKS.state.count) == (0, 0)


def test_too_much_is_refused() -> None:
    """Where the system has no more, NumPy's error comes, and arrays go on."""
    for make in (np.empty, np.zeros):
        with pytest.raises(MemoryError):
            within(make, 1 << 60, np.uint8)
    assert within(np.ones, 1 << 17).all()


def test_threads_come_and_go() -> None:
    """Arrays of many threads, freed by others, keep their numbers."""
    wrong = []
    handed: list[Array] = []

    def work(number: int) -> None:
        for _ in range(200):
            a = within(np.full, LEAST + 64 * number, number, np.uint8)
            handed.append(a)
            if not (a == number).all():
                wrong.append(number)
            if len(handed) > 8:
                handed.pop(0)

    threads = [Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_tensors_use_it() -> None:
    """Temporaries of ops on large tensors take turns in a few blocks."""
    a = dt.ones(1 << 19)
    ((a + a) * a + a) * a
    accelerator.empty_cache("cpu")
    before = accelerator.memory_allocated("cpu")
    assert accelerator.memory_reserved("cpu") == before
    y = (a + a) * a
    assert y[0].item() == 2
    assert accelerator.memory_reserved("cpu") - before > y.numpy().nbytes
    accelerator.empty_cache("cpu")
    after = accelerator.memory_reserved("cpu")
    assert after == accelerator.memory_allocated("cpu")


LASTS = """
import builtins, os, sys
import dovetail
a = dovetail.ones(1 << 20)
builtins.held = [(a * k).numpy() for k in range(4)]  # the last things to go
pid = os.fork()
b = (a + 1) * 2
assert b.sum().item() == 4 << 20
if pid:
    assert os.waitpid(pid, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_arrays_outlive_the_interpreter() -> None:
    """What is freed when Python ends is freed well, in a forked child too."""
    child.run(sys.executable, "-c", LASTS)


OFF = """
import dovetail
from dovetail import accelerator
a = dovetail.ones(1 << 20)
a + a
assert accelerator.memory_reserved("cpu") == accelerator.memory_allocated("cpu")
"""


@pytest.mark.parametrize(
    "options", [{"DOVETAIL_KEPT_MEMORY": "0"}, {"DOVETAIL_KERNELS": "off"}]
)
def test_it_can_be_switched_off(options: dict[str, str]) -> None:
    """Nothing is kept where somebody says so, or where nothing can be compiled."""
    child.run(sys.executable, "-c", OFF, **options)
