"""Kernels as builtins: what they do, what they leave to Python, and Python's lock."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from tests.null.codegen.counting import TEXT
from tests.support import child

from dovetail.codegen import runtime
from dovetail.codegen.runtime.kernels import CHUNKS, POOL
from dovetail.codegen.runtime.launch import EACH, Launch, launching

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def pool() -> Iterator[None]:
    """The pool has its own size again afterwards."""
    size = POOL.size
    yield
    POOL.resize(size)


def counting(
    pieces: int, grain: int, turns: int = 1, arrays: int = 1
) -> Launch:  # fmt: skip
    """What counts, in its first array, how often each piece is done."""
    others = [0] * (arrays - 1)  # the kernel would take a second array for its turns
    found = launching(
        runtime.kernel("count", TEXT), arrays, [turns, 0, *others], pieces, grain
    )
    if found is None:
        pytest.skip("there are no such builtins here")
    return found


def start_pool(threads: int) -> None:
    """Have so many threads that run."""
    POOL.resize(threads)
    runtime.kernel("count", TEXT).run(*_words(64), 64, 1)


def _words(pieces: int) -> tuple[int]:
    out = np.zeros(pieces, np.int64)
    words = np.array([out.ctypes.data, 1, 0], np.int64)
    _kept[:] = [out, words]
    return (int(words.ctypes.data),)


_kept: list[Array] = []


KEEP = """
define void @keep(ptr %arguments, i64 %low, i64 %high) {
  %out = load ptr, ptr %arguments
  %second = getelementptr i64, ptr %arguments, i64 1
  %word = load i64, ptr %second
  store i64 %word, ptr %out
  ret void
}
"""


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("grain", [1, 7, 100])
def test_each_piece_is_done_once(threads: int, grain: int) -> None:
    """Whether pieces are said or are the elements of an array; in one chunk or many."""
    start_pool(threads)
    for shape in ((100,), (4, 25), (0, 3), ()):
        out = np.zeros(shape, np.int64)
        assert counting(EACH, grain)(out) is True
        assert counting(out.size, grain)(out) is True
        np.testing.assert_array_equal(out, 2)


def test_what_does_not_fit_is_left_to_python() -> None:
    """Other numbers of arrays, gaps and other shapes write nothing."""
    out = np.zeros((6, 4), np.int64)
    assert counting(EACH, 100)() is False
    assert counting(EACH, 100)(out, out) is False
    assert counting(EACH, 100)(out[:, :3]) is False
    assert counting(EACH, 100)(out.T) is False
    for other in (np.zeros((4, 6), np.int64), np.zeros(24, np.int64), out[:5]):
        assert counting(EACH, 100, arrays=2)(out, other) is False
    assert not out.any()
    with pytest.raises(TypeError, match="keyword"):
        counting(EACH, 100)(out=out)


@pytest.mark.parametrize("word", [0, 2**63 - 1, 2**63, 2**64 - 1, -1])
def test_words_have_all_their_bits(word: int) -> None:
    """Those of negative numbers, too, whose highest bit is set."""
    out = np.zeros(2, np.int64)
    launch = launching(runtime.kernel("keep", KEEP), 1, [word], 1, 1)
    if launch is None:
        pytest.skip("there are no such builtins here")
    launch(out)
    assert int(out[0]) % 2**64 == word % 2**64


def test_python_starts_the_pool_and_looks_after_long_kernels() -> None:
    """Several chunks of a pool that does not run, and very many, are refused."""
    start_pool(2)
    out = np.zeros(CHUNKS + 1, np.int64)
    assert counting(EACH, 1)(out[:-1]) is True
    assert counting(EACH, 1)(out) is False
    POOL.close()
    assert counting(EACH, 1)(out[:-1]) is False
    assert counting(EACH, CHUNKS)(out[:-1]) is True  # one chunk needs no pool
    assert out.sum() == 2 * CHUNKS


def test_references_are_neither_kept_nor_lost() -> None:
    """Arrays, answers and what a builtin is bound to have as many as before."""
    out, launch = np.zeros(4, np.int64), counting(EACH, 100)
    refused = counting(EACH, 100, arrays=2)
    before = [sys.getrefcount(x) for x in (out, launch.__self__, True, False)]  # type: ignore[attr-defined]
    for _ in range(1000):
        launch(out)
        refused(out)
    after = [sys.getrefcount(x) for x in (out, launch.__self__, True, False)]  # type: ignore[attr-defined]
    assert all(abs(x - y) < 100 for x, y in zip(before, after, strict=True))


WAIT = """
define void @wait(ptr %arguments, i64 %low, i64 %high) {
entry:
  %flag = load ptr, ptr %arguments
  br label %look
look:
  %turn = phi i64 [ 0, %entry ], [ %next, %look ]
  %seen = load atomic i64, ptr %flag monotonic, align 8
  %next = add i64 %turn, 1
  %set = icmp ne i64 %seen, 0
  %tired = icmp sgt i64 %turn, 4000000000
  %over = or i1 %set, %tired
  br i1 %over, label %end, label %look
end:
  %result = getelementptr i64, ptr %flag, i64 1
  store atomic i64 %seen, ptr %result monotonic, align 8
  ret void
}
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_other_threads_run_python_meanwhile(threads: int) -> None:
    """Several chunks are done without Python's lock: what they wait for is written."""
    start_pool(threads)
    launch = launching(runtime.kernel("wait", WAIT), 1, [], 2, 1)
    if launch is None:
        pytest.skip("there are no such builtins here")
    flag, began = np.zeros(2, np.int64), Event()

    def call() -> None:
        began.set()
        launch(flag)

    caller = Thread(target=call)
    caller.start()
    began.wait()
    flag[0] = 1
    caller.join()
    assert flag[1] == 1


def test_callers_from_several_threads() -> None:
    """Each gets all of its work done, and nothing else."""
    start_pool(2)
    outs = [np.zeros(300, np.int64) for _ in range(4)]

    def call(out: Array) -> None:
        launch = counting(EACH, 10)
        for _ in range(50):
            assert launch(out)

    callers = [Thread(target=call, args=(out,)) for out in outs]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all((out == 50).all() for out in outs)


LAST = """
import numpy as np
import dovetail
a = dovetail.rand(300, 300)
class Late:
    def __init__(self): self.y = a.sigmoid()
late = Late()
import sys
sys.held = [late, a.sum(0), dovetail.exp]
"""


def test_the_interpreter_ends_with_builtins_that_live() -> None:
    """What they look into when they go is still there."""
    assert child.run(sys.executable, "-c", LAST).returncode == 0
