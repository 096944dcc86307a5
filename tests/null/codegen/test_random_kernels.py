"""Kernels that draw: the law's words, and the same bits from every renderer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import c_compiler, emulator
from tests.support.drawn_kernels import FLOATS, assert_same
from tests.support.generated import call, guarded, target, untouched
from tests.support.random_forms import (
    FIRST_BLOCK,
    SEED,
    random_forms,
    sources,
    words_for,
)

from dovetail.codegen import random_kernels as kernels
from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Store
from dovetail.codegen.random_values import PARAMETERS, pair, turned, word
from dovetail.codegen.values import index, load
from dovetail.ops import random_truth

Array = np.ndarray[Any, Any]
Run = Callable[[list[Array]], None]


@pytest.mark.parametrize("vector", [16, 32, 64])
@pytest.mark.parametrize("stream", [0, 1, 2**40 + 3])
def test_words_are_the_laws(vector: int, stream: int) -> None:
    """For vectors of every width, in whichever stream they are."""
    if vector > target().vector:
        pytest.skip(f"there are no vectors of {vector} bytes")
    form = kernels.words()
    for count in (0, 1, 7, 300):
        memory, y = guarded(count, "int32")
        words = [FIRST_BLOCK, SEED, stream]
        call(form, [y], count, *words, on=target(vector=vector))
        want = random_truth.words(count, SEED, 4 * FIRST_BLOCK, stream)
        assert untouched(memory, y)
        assert y.view(np.uint32).tolist() == want.tolist()


@pytest.mark.parametrize("vector", [16, 32, 64])
def test_words_at_any_index(vector: int) -> None:
    """What a lane asks for out of order is what it gets in order."""
    if vector > target().vector:
        pytest.skip(f"there are no vectors of {vector} bytes")
    place, y = Buffer("place", "int64"), Buffer("y", "uint32", True)
    z, i = Buffer("z", "uint64", True), index("i")
    stores = (Store(y, i.value, word(load(place, i)).value),
              Store(z, i.value, pair(load(place, i)).value))  # fmt: skip
    loop = Loop("lane", i.value, FIRST, LAST, stores)
    form = Kernel("picked", (place, y, z), PARAMETERS, (loop,))
    places = np.random.default_rng(0).integers(0, 1000, 77)
    words, pairs = np.empty(77, np.uint32), np.empty(77, np.uint64)
    given = [FIRST_BLOCK, SEED, 9]
    call(form, [places, words, pairs], 77, *given, on=target(vector=vector))
    want = random_truth.words(2000, SEED, 4 * FIRST_BLOCK, 9)
    assert words.tolist() == want[places].tolist()
    both = want[2 * places] | want[2 * places + 1] << np.uint64(32)
    assert pairs.tolist() == both.tolist()


def test_the_first_words_are_those_of_the_paper() -> None:
    """Of counter 0 and key 0, as Random123 publishes them."""
    y = np.empty(4, np.int32)
    call(kernels.words(), [y], 4, 0, 0, 0)
    found = [f"{w:08x}" for w in y.view(np.uint32).tolist()]
    assert found == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


def drawn(form: Kernel, count: int, run: Run) -> list[Array]:
    """The results of a kernel that `run` runs on arrays between guards."""
    results = [guarded(count, b.dtype) for b in form.buffers if b.written]
    run([*sources(form, count), *[y for _, y in results]])
    for memory, y in results:
        assert untouched(memory, y), form.name
    return [y for _, y in results]


def _called(form: Kernel, given: tuple[int, ...], arrays: list[Array]) -> None:
    call(form, arrays, *given)


def _called_in(
    library: Any, number: int, given: tuple[int, ...], arrays: list[Array]
) -> None:
    library.call(number, arrays, *given)


def assert_same_as_llvm(forms: list[Kernel], library: Any) -> None:
    """A library gives the bits that machine code gives."""
    count = 203
    for number, form in enumerate(forms):
        given = count, *words_for(form)
        theirs = drawn(form, count, partial(_called, form, given))
        ours = drawn(form, count, partial(_called_in, library, number, given))
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b)


@pytest.mark.skipif(c_compiler.COMPILER is None, reason="there is no C compiler")
def test_as_c(tmp_path: Path) -> None:
    """Written as C, all kernels give the same bits, normal numbers too."""
    forms = random_forms()
    assert_same_as_llvm(forms, c_compiler.Compiled(tmp_path, forms))


@pytest.mark.skipif(emulator.COMPILER is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("warp", [32, 64])
def test_on_a_device(warp: int, tmp_path: Path) -> None:
    """So they do on an emulated device."""
    forms = random_forms()
    assert_same_as_llvm(forms, emulator.Emulated(tmp_path, forms, warp))


@pytest.mark.parametrize("dtype", FLOATS)
def test_cosines_and_sines_of_turns(dtype: str) -> None:
    """Within 2 ulp of 1, all around, and exact at quarters."""
    t, y, z = Buffer("t", dtype), Buffer("y", dtype, True), Buffer("z", dtype, True)
    i = index("i")
    cosine, sine = turned(load(t, i))
    stores = (Store(y, i.value, cosine.value), Store(z, i.value, sine.value))
    form = Kernel(
        "turned", (t, y, z), (), (Loop("lane", i.value, FIRST, LAST, stores),)
    )
    turns = np.linspace(-0.5, 0.5, 80001)[:-1].astype(dtype)
    ours = [np.empty_like(turns) for _ in range(2)]
    call(form, [turns, *ours], turns.size)
    angle = (
        turns.astype(np.longdouble)
        * 2
        * np.longdouble("3.14159265358979323846264338327950288")
    )
    for got, want in zip(ours, (np.cos(angle), np.sin(angle)), strict=True):
        assert np.abs(got - want).max() < 2 * np.finfo(dtype).epsneg
    quarters = np.array([-0.5, -0.25, 0.0, 0.25], dtype)
    ours = [np.empty_like(quarters) for _ in range(2)]
    call(form, [quarters, *ours], 4)
    assert [a.tolist() for a in ours] == [[-1, 0, 1, 0], [0, -1, 0, 1]]
