"""Kernels for devices compute, on an emulated one, what they compute on the CPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.drawn_kernels import (
    FLOATS,
    INTEGERS,
    assert_same,
    drawn_kernel,
    elementwise,
    of_operands,
    rows,
    specials,
)
from tests.support.emulator import COMPILER, THREADS, Emulated
from tests.support.forms import pointwise_forms, row_form
from tests.support.generated import call, guarded, untouched
from tests.support.recorded_kernels import Recorded, recorded_kernels

from dovetail.codegen.c_device import blocks_for, render
from dovetail.codegen.c_dialects import CUDA, OPENCL, hip
from dovetail.codegen.ir import (
    FIRST,
    LAST,
    Accumulator,
    Buffer,
    Kernel,
    Loop,
    Store,
    Value,
)
from dovetail.codegen.ir import Update as Into
from dovetail.codegen.mathematics import FUNCTIONS
from dovetail.codegen.values import Term, constant, index, load, parameter

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")

Array = np.ndarray[Any, Any]
WARPS = (32, 64)
_LAST = {"dim": (1,), "keepdim": True}
ROWS: dict[str, dict[str, Any]] = {
    "sum": _LAST,
    "softmax": {"dim": 1},
    "var": {**_LAST, "correction": 1},
    "amax": _LAST,
}


def operands(kernel: Kernel, count: int) -> list[Array]:
    """Numbers with all that is special about them, for each buffer that is read."""
    draws = np.random.default_rng(3)
    given = []
    for buffer in kernel.buffers:
        if not buffer.written:
            if buffer.dtype == "bool":
                given.append(draws.integers(0, 2, count).astype(bool))
            else:
                given.append(draws.choice(specials(buffer.dtype), count))
    return given


def assert_same_as_llvm(kernels: list[Kernel], folder: Path, warp: int) -> None:
    """Pointwise kernels give the same bits on a device, and write nowhere else."""
    library = Emulated(folder, kernels, warp)
    count = 3 * THREADS + 5
    for number, kernel in enumerate(kernels):
        given = operands(kernel, count)
        dtype = kernel.buffers[-1].dtype
        memory, ours = guarded(count, dtype)
        theirs = np.empty(count, dtype)
        words = [_word(d) for _, d in kernel.parameters]
        library.call(number, [*given, ours], count, *words)
        call(kernel, [*given, theirs], count, *words)
        assert untouched(memory, ours), kernel.name
        assert_same(ours, theirs)


def _word(dtype: str) -> int:
    """1 as a word of the table, or what is next to it."""
    if dtype == "bool" or "int" in dtype:
        return 1
    number = np.array([1.25], dtype)
    return int(number.view(f"u{number.itemsize}")[0])


@pytest.mark.parametrize("warp", WARPS)
def test_random_kernels(warp: int, tmp_path: Path) -> None:
    """Operations within operations, and the mathematics, in all dtypes."""
    kernels = [drawn_kernel(9, dtype) for dtype in (*FLOATS, *INTEGERS)]
    kernels += [
        elementwise(of_operands(f), dtype)
        for f in list(FUNCTIONS.values())[:4]
        for dtype in FLOATS
    ]
    assert_same_as_llvm(kernels, tmp_path, warp)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("warp", WARPS)
def test_every_pointwise_op(dtype: str, warp: int, tmp_path: Path) -> None:
    """Each pointwise op of the vocabulary, on operands with all special values."""
    forms = pointwise_forms(dtype)
    assert len(forms) > 90
    assert_same_as_llvm(forms, tmp_path, warp)


def oracle(op: str, x: Array) -> Array:
    """What is true of rows, in double precision."""
    wide = x.astype(np.float64)
    if op == "softmax":
        e = np.exp(wide - wide.max(1, keepdims=True))
        return np.asarray(e / e.sum(1, keepdims=True))
    if op == "var":
        return np.asarray(wide.var(1, ddof=1))
    return np.asarray({"sum": np.sum, "amax": np.max}[op](wide, axis=1))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("lanes", [33, 1030])
def test_rows(lanes: int, dtype: str, tmp_path: Path) -> None:
    """Statistics of rows and softmax are true, and have the same bits for all warps."""
    forms = [row_form(op, dtype, lanes, **given) for op, given in ROWS.items()]
    libraries = [Emulated(tmp_path, forms, warp) for warp in (*WARPS, 1)]
    for number, op in enumerate(ROWS):
        x = np.random.default_rng(number).normal(1, 2, (3, lanes)).astype(dtype)
        want = oracle(op, x)
        results = []
        for library in libraries:
            memory, y = guarded(want.size, dtype)
            library.call(number, [x, y], 3, 3, lanes, blocks=2)
            assert untouched(memory, y)
            results.append(y.copy())
        near = 30 * np.finfo(dtype).eps
        np.testing.assert_allclose(results[0], want.ravel(), rtol=near, atol=near)
        for y in results[1:]:
            assert_same(y, results[0])


def test_lanes_are_gathered(tmp_path: Path) -> None:
    """Sums of whole numbers and extremes are exact, whatever the row's width."""
    cases = [("add", "int32", 0), ("minimum", "int16", 99), ("maximum", "uint8", 0),
             ("maximum", "float64", -np.inf), ("add", "int64", 0)]  # fmt: skip
    kernels = [rows(*case) for case in cases]
    for warp in WARPS:
        library = Emulated(tmp_path, kernels, warp)
        for number, (_, dtype, _) in enumerate(cases):
            for width in (0, 1, 33, 300):
                x = (np.arange(2 * (width + 1)) * 7 % 101).astype(dtype)
                memory, ours = guarded(2, dtype)
                theirs = np.empty(2, dtype)
                library.call(number, [x, ours], 2, width, 1)
                call(kernels[number], [x, theirs], 2, width, 1)
                assert untouched(memory, ours)
                assert_same(ours, theirs)


def scan(combine: Any, dtype: str, start: float) -> Kernel:
    """y[row, i] = x[row, 0 … i] combined."""
    x, y = Buffer("x", dtype), Buffer("y", dtype, written=True)
    row, i, width = index("row"), index("i"), parameter("width")
    so_far = Accumulator(combine, dtype, start)
    at = row * width + i
    found = Value("prefix", dtype, (load(x, at).value,), so_far)
    loop = Loop("lane", i.value, constant(0, "int64").value, width.value,
                (Store(y, at.value, found),), (so_far,))  # fmt: skip
    grid = Loop("grid", row.value, FIRST, LAST, (loop,))
    return Kernel("scan", (x, y), (("width", "int64"),), (grid,))


@pytest.mark.parametrize("warp", WARPS)
def test_scans(warp: int, tmp_path: Path) -> None:
    """Sums and extremes so far, of rows shorter and longer than a block is wide."""
    cases = [("add", "int64", 0), ("maximum", "float32", -np.inf)]
    library = Emulated(tmp_path, [scan(*case) for case in cases], warp)
    for number, (_, dtype, _) in enumerate(cases):
        numpys = (np.add, np.maximum)[number]
        for width in (1, THREADS, 2 * THREADS + 9):
            x = np.random.default_rng(width).normal(0, 99, (3, width)).astype(dtype)
            memory, y = guarded(x.size, dtype)
            library.call(number, [x, y], 3, width)
            assert untouched(memory, y)
            assert_same(y, numpys.accumulate(x, axis=1).ravel())


def test_a_barrier_that_is_missing_in_a_scan_is_seen(tmp_path: Path) -> None:
    """Each of the barriers of a scan is needed."""
    x, y = np.arange(300), np.zeros(300, np.int64)
    for number in range(4):

        def planted(text: str, number: int = number) -> str:
            parts = text.split("BARRIER;")
            assert len(parts) == 5
            left, right = parts[: number + 1], parts[number + 1 :]
            return ";".join(["BARRIER;".join(left), "BARRIER;".join(right)])

        folder = tmp_path / str(number)
        folder.mkdir()
        library = Emulated(folder, [scan("add", "int64", 0)], 32, planted=planted)
        library.call(0, [x, y], 1, 300)
        assert y.tolist() != np.cumsum(x).tolist()


@pytest.fixture(scope="module")
def total(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """How a library sums a row of whole numbers, its text changed in some way."""

    def summed(old: str = "", new: str = "", warp: int = 32) -> int:
        folder = tmp_path_factory.mktemp("total")

        def planted(text: str) -> str:
            assert re.search(old, text)
            return re.sub(old, new, text)

        library = Emulated(folder, [rows("add", "int32", 0)], warp, planted=planted)
        x, y = np.arange(1000, dtype=np.int32), np.zeros(1, np.int32)
        library.call(0, [x, y], 1, 1000, 1)
        return int(y[0])

    return summed


def test_a_sum_is_right_as_it_is_written(total: Any) -> None:
    """The device that shows what is wrong gives the right sum of what is right."""
    assert total() == 499500


def test_a_barrier_that_is_missing_is_seen(total: Any) -> None:
    """Threads that read before others have written give another sum."""
    assert total(r"\bBARRIER;", ";") != 499500


def test_a_warp_of_other_size_is_seen(total: Any) -> None:
    """Code that takes 32 threads for 64 adds up something else."""
    with pytest.raises(AssertionError, match="did not meet"):
        total(r"int step = WARP / 2", "int step = 64", warp=64)


def test_a_barrier_that_not_all_meet_is_seen(total: Any) -> None:
    """A barrier under a condition that holds for some threads alone never opens."""
    with pytest.raises(AssertionError, match="did not meet"):
        total(r"\bBARRIER;", "if (THREAD) BARRIER;")


def test_what_one_statement_wrote_the_next_can_read(tmp_path: Path) -> None:
    """Lanes that read what other threads wrote before find it there."""
    x, y = Buffer("x", "float32"), Buffer("y", "float32", written=True)
    z, row, i, j = Buffer("z", "float32", True), index("row"), index("i"), index("j")
    zero, end = constant(0, "int64").value, constant(100, "int64")
    write = Loop("lane", i.value, zero, end.value,
                 (Store(y, i.value, (load(x, i) * 2.0).value),))  # fmt: skip
    back = load(y, end - 1 - j)
    read = Loop("lane", j.value, zero, end.value, (Store(z, j.value, back.value),))
    kernel = Kernel("turn", (x, y, z), (), (Loop("grid", row.value, FIRST, LAST,
                                                 (write, read)),))  # fmt: skip
    given = np.arange(100, dtype=np.float32)
    doubled, turned = np.zeros_like(given), np.zeros_like(given)
    Emulated(tmp_path, [kernel], 32).call(0, [given, doubled, turned], 1)
    assert turned.tolist() == (given * 2)[::-1].tolist()


def test_a_running_sum(tmp_path: Path) -> None:
    """What comes one after the other is done by the one block that has all of it."""
    x, y, i = Buffer("x", "float32"), Buffer("y", "float32", written=True), index("i")
    total = Accumulator("add", "float32", 0.0)
    body = (Into(total, load(x, i).value), Store(y, i.value, total.value))
    loop = Loop("seq", i.value, FIRST, LAST, body, (total,))
    kernel = Kernel("running", (x, y), (), (loop,))
    given = np.random.default_rng(0).normal(size=50).astype(np.float32)
    y_ = np.zeros_like(given)
    Emulated(tmp_path, [kernel], 32).call(0, [given, y_], 50)
    np.testing.assert_array_equal(y_, np.cumsum(given, dtype=np.float32))


def test_as_many_blocks_as_pay() -> None:
    """A thread a lane, a block an item of a grid, one for what has an order."""
    flat, grid = drawn_kernel(0, "float32"), rows("add", "int32", 0)
    assert [blocks_for(flat, n) for n in (0, 1, 256, 257)] == [1, 1, 1, 2]
    assert [blocks_for(grid, n) for n in (1, 300, 1 << 40)] == [1, 300, 1 << 16]


def test_a_sum_of_each_chunk(tmp_path: Path) -> None:
    """A block has all lanes of a chunk, and can say something of them together."""
    x, y, i = Buffer("x", "int32"), Buffer("y", "int32", written=True), index("i")
    total = Accumulator("add", "int32", 0)
    loop = Loop("lane", i.value, FIRST, LAST, (Into(total, load(x, i).value),),
                (total,))  # fmt: skip
    store = Store(y, (Term(FIRST) >> 8).value, total.value)
    kernel = Kernel("chunks", (x, y), (), (loop, store))
    given, sums = np.arange(1000, dtype=np.int32), np.zeros(4, np.int32)
    Emulated(tmp_path, [kernel], 32).call(0, [given, sums], 1000, grain=256)
    assert sums.tolist() == [
        int(part.sum()) for part in np.split(given, [256, 512, 768])
    ]


@pytest.mark.parametrize("dialect", [CUDA, hip(32), hip(64), OPENCL])
def test_doubles_are_asked_for_where_there_are_some(dialect: Any) -> None:
    """Devices without float64 compile what has none."""
    single, double = (render(drawn_kernel(1, d), dialect=dialect) for d in FLOATS)
    head = dialect.doubles or "no extension"
    assert (head in double) == bool(dialect.doubles)
    assert "f64" not in single.replace(dialect.head, "")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Recorded]:
    """Every kernel of the CPU with a call of it."""
    found = recorded_kernels(tmp_path_factory.mktemp("recorded"))
    assert len(found) > 300
    return found


@pytest.mark.slow
@pytest.mark.parametrize("warp", WARPS)
def test_every_kernel_of_the_cpu(
    recorded: list[Recorded], warp: int, tmp_path: Path
) -> None:
    """Each kernel computes on a device what it computed on the CPU, and no more."""
    library = Emulated(tmp_path, [r.form for r in recorded], warp)
    wrong = []
    for number, found in enumerate(recorded):
        if found.count:
            memory = [m.content.copy() for m in found.before]
            given = [memory[p][found.before[p].start :] for p in found.places]
            library.call(number, given, found.count, *found.words, blocks=3,
                         grain=found.grain)  # fmt: skip
            if not is_same(found, memory):
                wrong.append(found.form.name)
    assert not wrong


def is_same(found: Recorded, memory: list[Array]) -> bool:
    """Whether memory is as it was after the call; sums are so within their rounding."""
    kinds = {place: b.dtype for place, b in zip(found.places, found.form.buffers,
                                                strict=True)}  # fmt: skip
    for place, (ours, theirs) in enumerate(zip(memory, found.after, strict=True)):
        if np.array_equal(ours, theirs.content):
            continue
        dtype = kinds[place]
        if dtype not in FLOATS:
            return False
        a, b = (np.frombuffer(c.tobytes(), dtype) for c in (ours, theirs.content))
        near = 0.0 if is_exact(found.form) else 100 * np.finfo(dtype).eps
        scale = np.abs(b[np.isfinite(b)]).max(initial=1.0)
        if not np.allclose(a, b, rtol=near, atol=near * scale, equal_nan=True):
            return False
    return True


def is_exact(form: Kernel) -> bool:
    """Whether a kernel adds nothing up in an order of its own."""
    return not any(
        carried.dtype in FLOATS and carried.combine in ("add", "mul")
        for loop in loops(form.body)
        for carried in loop.carries
    )


def loops(body: tuple[Any, ...]) -> Iterator[Loop]:
    """All loops, those within others too."""
    for statement in body:
        if isinstance(statement, Loop):
            yield statement
            yield from loops(statement.body)
