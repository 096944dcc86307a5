"""Generated gathers and scatters: values, order, refusals, memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.c_compiler import COMPILER, Compiled
from tests.support.generated import guarded, untouched

import dovetail
from dovetail.codegen import eager_places
from dovetail.codegen.eager_places import Shape, at_places
from dovetail.engine.op import vocabulary
from dovetail.errors import IndexOutOfRange
from dovetail.ops.index_slices import index_sum
from dovetail_cpu.generated import LEAST
from dovetail_cpu.generated_places import EARLY, PLACE_OPS
from dovetail_cpu.patience import CALLS as CALLS_BEFORE

Array = np.ndarray[Any, Any]
# Around a dim: outer, size, count, inner elements.
AROUND = [
    (1, 7, 40_000, 1), (300, 50, 60, 1), (1, 60, 50, 700), (3, 20, 30, 333),
    (2, 9, 1000, 17), (1, 1, 1, 1), (4, 5, 3, 2),
]  # fmt: skip
COMBINED: dict[str, Any] = {
    "add": np.add, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum
}  # fmt: skip
DTYPES = ("float32", "float64", "int64", "uint8", "int16")


def drawn(dtype: str, *shape: int, seed: int = 0) -> Array:
    """Whole numbers, whose sums are exact."""
    return np.random.default_rng(seed).integers(0, 9, shape).astype(dtype)


def places(shape: Shape, *, line: bool, dtype: str, low: int = 0) -> Array:
    """Indices in range, many of them alike."""
    outer, size, count, inner = shape
    wanted = (count,) if line else (outer, count, inner)
    return np.random.default_rng(1).integers(low, size, wanted).astype(dtype)


def loops(does: str, x: Array, index: Array, y: Array, line: bool) -> Array:
    """What is wanted, by plain loops over outer elements and indices."""
    y = y.copy()
    for outer in range(x.shape[0]):
        for k in range(index.size if line else index.shape[1]):
            at = index[k] if line else index[outer, k]
            j = slice(None) if line else np.arange(x.shape[2])
            if does == "read":
                y[outer, k] = x[outer, at, j]
            elif does == "write":
                y[outer, at, j] = x[outer, k]
            else:
                y[outer, at, j] = COMBINED[does](y[outer, at, j], x[outer, k])
    return y


@pytest.mark.parametrize("line", [False, True])
@pytest.mark.parametrize("does", ["read", "write", *COMBINED])
def test_elements_go_where_indices_say(does: Any, line: bool) -> None:
    """Along first, middle and last dims, duplicates in their order, guards kept."""
    for number, around in enumerate(AROUND):
        shape, dtype = Shape(*around), DTYPES[number % len(DTYPES)]
        long, short = (around[0], *around[2:]), (around[0], around[1], around[3])
        given, wanted = (short, long) if does == "read" else (long, short)
        x = drawn(dtype, *given)
        index = places(shape, line=line, dtype=("int64", "int32")[number % 2])
        memory, flat = guarded(int(np.prod(wanted)), dtype)
        y = flat.reshape(wanted)
        y[...] = drawn(dtype, *wanted, seed=2)
        expected = loops(does, x, index.astype(np.int64), y, line)
        assert at_places(does, x, index, y, shape, line=line)
        np.testing.assert_array_equal(y, expected)
        assert untouched(memory, flat)


def test_indices_from_the_end() -> None:
    """Negative indices are counted from the end where that is asked for."""
    for line in (False, True):
        shape = Shape(3, 20, 1000, 1)
        x, y = drawn("float32", 3, 20, 1), np.empty((3, 1000, 1), np.float32)
        index = places(shape, line=line, dtype="int64", low=-20)
        assert at_places("read", x, index, y, shape, line=line, signed=True)
        np.testing.assert_array_equal(y, loops("read", x, index, y, line))


@pytest.mark.parametrize("line", [False, True])
@pytest.mark.parametrize("inner", [1, 5, 200])
@pytest.mark.parametrize("bad", [-1, 20, -(2**63), 2**63 - 1])
def test_what_is_out_of_range_is_told(line: bool, inner: int, bad: int) -> None:
    """One bad index anywhere is found, and nothing beside the array is touched."""
    shape = Shape(3, 20, 50, inner)
    index = places(shape, line=line, dtype="int64")
    index.reshape(-1)[-1] = bad
    x = drawn("float32", 3, 50, inner)
    memory, flat = guarded(3 * 20 * inner, "float32")
    assert not at_places("add", x, index, flat.reshape(3, 20, inner), shape, line=line)
    assert untouched(memory, flat)


CALLS: dict[str, Any] = {
    "gather": lambda x, i: x.gather(1, i),
    "index_select": lambda x, i: x.index_select(1, i[0]),
    "embedding": lambda x, i: dovetail.nn.functional.embedding(i, x),
    "scatter": lambda x, i: x.scatter(1, i, x),
    "scatter_add": lambda x, i: x.scatter_add(1, i, x),
    "index_copy": lambda x, i: x.index_copy(1, i[0], x),
    "index_add": lambda x, i: x.index_add(1, i[0], x),
    "index_sum": lambda x, i: index_sum(x, i[0], 160, 1),
    "scatter_reduce": lambda x, i: x.scatter_reduce(1, i, x, "amax"),
}


@pytest.mark.parametrize("op", PLACE_OPS)
def test_large_calls_are_those_of_numpy(op: str, monkeypatch: Any) -> None:
    """Each op is served by them, and gives what the kernel before them gives."""
    x, index = drawn("float32", 160, 160), drawn("int64", 160, 160, seed=3)
    assert x.size >= LEAST
    served: list[bool] = []

    def counted(*args: Any, **options: Any) -> bool:
        served.append(at_places(*args, **options))
        return served[-1]

    monkeypatch.setattr(eager_places, "at_places", counted)
    # After many small calls, such as those of other tests, it would serve small ones.
    vocabulary[op].forget()
    a, i = dovetail.from_numpy(x), dovetail.from_numpy(index)
    large = CALLS[op](a, i)
    assert served == [True]
    # Fewer rows are left to NumPy.
    cut = (LEAST >> EARLY.get(op, 3)) // 160 - 1
    small = CALLS[op](a[:cut].contiguous(), i[:cut].contiguous())
    assert len(served) == 1 or op == "embedding"
    np.testing.assert_array_equal(large.numpy()[:cut], small.numpy())


@pytest.mark.parametrize("op", PLACE_OPS)
def test_bad_indices_are_refused_by_name(op: str) -> None:
    """A large call refuses what a small one refuses, and says which index it is."""
    x, index = drawn("float32", 160, 160), drawn("int64", 160, 160, seed=3)
    index[0, 77] = 999
    a, i = dovetail.from_numpy(x), dovetail.from_numpy(index)
    with pytest.raises(IndexOutOfRange, match="999"):
        CALLS[op](a, i)
    np.testing.assert_array_equal(a.numpy(), x)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_reductions_of_what_meets(reduce: Any, include_self: bool) -> None:
    """Each reduction of a large call is that of the small calls it is made of."""
    x, index = drawn("float32", 160, 160) - 4, drawn("int64", 160, 160, seed=3)
    x[3, 5] = np.nan
    a, i = dovetail.from_numpy(x), dovetail.from_numpy(index)
    large = a.scatter_reduce(1, i, a + 1, reduce, include_self=include_self).numpy()
    for row in range(0, 160, 40):
        part = slice(row, row + 40)
        small = a[part].scatter_reduce(
            1, i[part], a[part] + 1, reduce, include_self=include_self
        )
        np.testing.assert_array_equal(large[part], small.numpy())


@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_zeros_of_either_sign_meet_alike(reduce: Any) -> None:
    """A call that has been made often gives the signs that its first ones gave."""
    random = np.random.default_rng(0)
    x, source = random.choice(np.array([0.0, -0.0, 1, -1], "float32"), (2, 9, 40))
    a, b = dovetail.from_numpy(x), dovetail.from_numpy(source)
    index = dovetail.from_numpy(random.integers(9, size=(9, 40)))
    vocabulary["scatter_reduce"].forget()
    first, *_, last = (
        a.scatter_reduce(0, index, b, reduce).numpy() for _ in range(CALLS_BEFORE + 2)
    )
    assert first.tobytes() == last.tobytes()


def test_gradients_of_an_embedding_add_up() -> None:
    """A row that was read often gets all its cotangents, in the order of reading."""
    index = drawn("int64", 3000, seed=4)
    weight = dovetail.zeros(12, 24).requires_grad_()
    ct = np.random.default_rng(0).standard_normal((3000, 24)).astype(np.float32)
    rows = dovetail.nn.functional.embedding(dovetail.from_numpy(index), weight)
    rows.backward(dovetail.from_numpy(ct))
    wanted = np.zeros((12, 24), np.float32)
    np.add.at(wanted, index, ct)
    assert weight.grad is not None
    np.testing.assert_array_equal(weight.grad.numpy(), wanted)


def test_threads_change_nothing() -> None:
    """Sums of floats have the same bits on any number of threads."""
    shape = Shape(2, 40, 3000, 130)
    x = np.random.default_rng(0).standard_normal((2, 3000, 130)).astype(np.float32)
    index = places(shape, line=False, dtype="int64")
    before, found = dovetail.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            dovetail.set_num_threads(threads)
            y = np.zeros((2, 40, 130), np.float32)
            assert at_places("add", x, index, y, shape, line=False)
            found.append(y.tobytes())
    finally:
        dovetail.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_as_c_they_do_the_same(tmp_path: Path) -> None:
    """The same kernels written as C move the same elements, and tell the same."""
    forms = [
        eager_places.Places(does, "float32", "int64", line, wide, signed=True)
        for does in ("read", "write", "maximum") for line in (False, True)
        for wide in (False, True)
    ]  # fmt: skip
    library = Compiled(tmp_path, [form.kernel() for form in forms])
    for number, form in enumerate(forms):
        shape = Shape(3, 20, 30, 40 if form.wide else 1)
        index = places(shape, line=form.line, dtype="int64", low=-20)
        long, short = (3, 30, shape.inner), (3, 20, shape.inner)
        given, wanted = (short, long) if form.does == "read" else (long, short)
        x, ours = drawn("float32", *given), np.zeros(wanted, np.float32)
        theirs, greatest = ours.copy(), np.zeros(1, np.uint64)
        words = (20, 30, shape.inner, 1, 30, 1, shape.inner, 10)
        library.call(number, [x, index, ours, greatest], 3, *words)
        assert at_places(
            form.does, x, index, theirs, shape, line=form.line, signed=True
        )
        np.testing.assert_array_equal(ours, theirs)
        assert greatest[0] < 20
