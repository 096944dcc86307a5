"""Copies that are turned in registers, and casts of 16-bit floats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.support.generated import call, guarded, untouched

import dovetail
from dovetail.codegen import runtime, transposition
from dovetail.codegen.arrays import target
from dovetail.codegen.eager import Pointwise
from dovetail.codegen.eager_copy import transposed
from dovetail.codegen.program import Program, Step
from dovetail.device_api import registry
from dovetail.dtypes import HALF, bfloat16, by_name, float16, float32

Array = np.ndarray[Any, Any]

LIES: dict[str, Callable[[Array], Array]] = {
    "turned": lambda a: a.reshape(60, 70).T,
    "channels last": lambda a: a.reshape(2, 35, 20, 3).transpose(0, 2, 3, 1),
    "batches swapped": lambda a: a.reshape(2, 3, 20, 35).transpose(1, 0, 3, 2),
    "rows backwards": lambda a: a.reshape(60, 70)[::-1].T,
    "with gaps": lambda a: a.reshape(60, 70)[:, :37].T,
}


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "complex64"])
@pytest.mark.parametrize("lies", LIES)
def test_transposed_copies_are_right(lies: str, dtype: str) -> None:
    """Elements of all sizes arrive where they belong, however the source lies."""
    a = LIES[lies](np.random.default_rng(0).integers(0, 255, 4200).astype(dtype))
    y = transposed(a)
    assert y is not None
    assert y.flags.c_contiguous
    np.testing.assert_array_equal(y, a)


@pytest.mark.parametrize("vector", [16, 32, 64])
@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_tiles_write_nothing_beside(itemsize: int, vector: int) -> None:
    """Whatever is left of a tile, and wherever memory begins, guard bytes stay."""
    own = target()
    if vector > own.vector:
        pytest.skip("the processor has no such vectors")
    on = replace(own, vector=vector)
    side = transposition.side(itemsize, on)
    name = f"turned_{itemsize}_{vector}"
    code = runtime.kernel(name, transposition.render(name, itemsize, on))
    dtype = f"u{itemsize}"
    for height, width, offset in ((side, side, 0), (side + 1, 2 * side + 3, 1),
                                  (3 * side - 1, side + 1, 3)):  # fmt: skip
        a = np.arange(height * width).astype(dtype).reshape(width, height)
        memory, y = guarded(a.size, dtype, offset)
        stripes = -(-height // side)
        words = np.array([a.ctypes.data, y.ctypes.data, height, width, height, width,
                          stripes, 1, 0, 0, 0, 0])  # fmt: skip
        code.run(words.ctypes.data, stripes, 1)
        np.testing.assert_array_equal(y.reshape(height, width), a.T)
        assert untouched(memory, y)


def test_what_is_no_transposition_is_left() -> None:
    """Rows, flips and arrays smaller than a tile are copied by NumPy."""
    a = np.zeros((100, 100), np.float32)
    for other in (a, a[:, ::-1], a[:3].T, a[:, :3].T, a[::2]):
        assert transposed(other) is None


def test_large_transposed_tensors_are_copied_by_tiles() -> None:
    """`x.t().contiguous()` is what NumPy's copy would be."""
    x = dovetail.arange(300 * 200).reshape(300, 200)
    y = x.t().contiguous()
    assert y.is_contiguous()
    np.testing.assert_array_equal(y.numpy(), x.numpy().T)


def cast(a: Array, to: str) -> Array:
    """What the kernel of a cast gives."""
    table = registry.load("cpu").table
    source = by_name(a.dtype.name)
    found: Array = table.select("cast", source)[0].function(dtype=by_name(to))(a)
    return found


@pytest.mark.parametrize("dtype", sorted(HALF, key=str), ids=str)
def test_every_half_is_widened(dtype: Any) -> None:
    """All 65,536 patterns become the float32 that they stand for."""
    a = np.arange(1 << 16).astype(np.uint16).view(dtype.numpy)
    np.testing.assert_array_equal(cast(a, "float32"), a.astype(np.float32))


def between(dtype: Any) -> Array:
    """Numbers of a format, those next to halfway between two, and any others."""
    halves = np.arange(1 << 16).astype(np.uint16).view(dtype.numpy).astype(np.float32)
    middle = halves.view(np.int32) + (1 << (12 if dtype is float16 else 15))
    near = np.concatenate([middle - 1, middle, middle + 1]).view(np.float32)
    anywhere = np.random.default_rng(0).integers(-(2**31), 2**31, 1 << 16, np.int64)
    some = anywhere.astype(np.int32).view(np.float32)
    tiny = np.arange(1, 5000, dtype=np.float32) * np.float32(2.0**-26)
    return np.concatenate([halves, near, some, tiny, -tiny])


@pytest.mark.parametrize("dtype", sorted(HALF, key=str), ids=str)
def test_halves_are_rounded_to_even(dtype: Any) -> None:
    """float32 becomes the nearest number, the even one of two, or infinite, or NaN."""
    x = between(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        want = x.astype(dtype.numpy)
    got = cast(x, dtype.name)
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))
    nan = np.isnan(x)
    np.testing.assert_array_equal(np.signbit(got[nan]), np.signbit(x[nan]))


@pytest.mark.parametrize("dtype", sorted(HALF, key=str), ids=str)
def test_arithmetic_of_halves_rounds_once(dtype: Any) -> None:
    """A body on 16-bit floats is computed in float32, and rounded at its end."""
    x = dovetail.linspace(-9, 9, 5000).to(dtype)
    wide = dovetail.nn.functional.silu(x.to(float32)).to(dtype)
    y = dovetail.nn.functional.silu(x)
    assert y.dtype is dtype
    assert (y == wide).all()


def test_sums_of_halves_are_generated() -> None:
    """NumPy converts 16-bit floats one by one: sums have a kernel, too."""
    a = np.linspace(-9, 9, 5000).astype(ml_dtypes.bfloat16)
    add = registry.load("cpu").table.select("add", bfloat16)[0].function()
    np.testing.assert_array_equal(add(a, a), a * 2)


@pytest.mark.parametrize("dtype", sorted(HALF, key=str), ids=str)
def test_tails_of_halves_write_nothing_beside(dtype: Any) -> None:
    """However many elements are left over, the bytes behind them stay."""
    name = dtype.name
    program = Program(("float32",), (Step("exp", (0,), "float32"),), ((1, "float32"),))
    kernel = Pointwise("exp", program, 0, [name], name).form(("run",), rows=False)
    for count in (1, 15, 31, 32, 33, 63, 65, 100):
        x = np.linspace(-3, 3, count).astype(dtype.numpy)
        memory, y = guarded(count, "uint16", 1)
        call(kernel, [x, y], count, 1)
        want = np.exp(x.astype(np.float32)).astype(dtype.numpy).astype(np.float32)
        got = y.view(dtype.numpy).astype(np.float32)
        np.testing.assert_allclose(got, want, rtol=2**-7)
        assert untouched(memory, y)


MUCH = 150_001  # elements that several threads move
DTYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32",
          "float64", "complex64", "complex128"]  # fmt: skip


def anything(dtype: str) -> Array:
    """Numbers of a dtype from random bits; what lies beyond it is left out."""
    rng = np.random.default_rng(0)
    if dtype == "bool":
        return rng.random(MUCH) < 0.5
    size = np.dtype(dtype).itemsize
    return np.frombuffer(rng.bytes(MUCH * size), dtype).copy()


@pytest.fixture
def _two_threads() -> Iterator[None]:
    before = dovetail.get_num_threads()
    dovetail.set_num_threads(2)
    yield
    dovetail.set_num_threads(before)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of kernels that serve from here on."""
    served: list[str] = []
    own = Pointwise.__call__

    def noted(self: Pointwise, *given: Any, **named: Any) -> Any:
        served.append(self.name)
        return own(self, *given, **named)

    monkeypatch.setattr(Pointwise, "__call__", noted)
    return served


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_copies_are_made_by_threads(dtype: str, made: list[str]) -> None:
    """Every bit arrives, in memory of its own, of NaN too."""
    a = anything(dtype)
    x = dovetail.from_numpy(a.reshape(1, MUCH))
    y = x.clone().numpy()
    assert made == ["copy"]
    assert y.shape == (1, MUCH)
    assert y.tobytes() == a.tobytes()
    assert not np.shares_memory(a, y)


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_casts_are_what_numpy_gives(dtype: str, to: str, made: list[str]) -> None:
    """Of every pair of dtypes that NumPy defines; integers of floats are its own."""
    a = anything(dtype)
    floats = np.dtype(dtype).kind in "fc"
    if floats and np.dtype(to).kind in "iu":
        a = (np.arange(MUCH) % 100).astype(dtype)
    with np.errstate(all="ignore"):  # as the engine calls it
        y = cast(a, to)
    if floats and np.dtype(to).kind in "iu":
        assert not made
    elif "complex" not in dtype + to and "float16" not in (dtype, to) and dtype != to:
        assert made == [f"cast_to_{to}"]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(y, real(a, to))


def real(a: Array, to: str) -> Array:
    """NumPy's cast, of real parts where the result has no others."""
    if a.dtype.kind == "c" and np.dtype(to).kind not in "cb":
        a = a.real
    return a.astype(to)


def test_one_thread_copies_as_numpy_does(made: list[str]) -> None:
    """A kernel would gain nothing; that of 16-bit floats does."""
    before = dovetail.get_num_threads()
    dovetail.set_num_threads(1)
    try:
        dovetail.ones(MUCH).clone()
        dovetail.ones(MUCH).to(by_name("float64"))
    finally:
        dovetail.set_num_threads(before)
    assert not made
