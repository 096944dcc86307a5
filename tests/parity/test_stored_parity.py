"""What is stored of numbers, and what of lists: torch's dtypes, and its refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.parity import agree, answers

torch = pytest.importorskip("torch")

law = settings(deadline=None, database=None, derandomize=True, max_examples=60)

NUMBERS: Final = st.sampled_from(
    [0, 1, -1, 127, 128, -128, -129, 255, 256, 300, 70000, 1 << 40, 1e39, math.inf]
)
WRITES: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "masked_fill": lambda lib, x, v: x.masked_fill(x == 0, v),
    "masked_fill_": lambda lib, x, v: x.masked_fill_(x == 0, v),
    "index_fill": lambda lib, x, v: x.index_fill(0, lib.tensor([1]), v),
    "fill_": lambda lib, x, v: x.fill_(v),
    "mask": lambda lib, x, v: x.__setitem__(x == 0, v) or x,
    "place": lambda lib, x, v: x.__setitem__(0, v) or x,
}


@pytest.mark.parametrize("name", WRITES)
@law
@given(
    number=NUMBERS, source=st.sampled_from(["int64", "float64"]),
    dtype=st.sampled_from(["int8", "uint8", "int32", "float16", "float32"]),
)  # fmt: skip
def test_a_tensor_of_one_number(
    name: str, number: Any, source: str, dtype: str
) -> None:
    """The number of a 0-d tensor fits what it is written to, where torch asks."""
    if source == "int64" and not isinstance(number, int):
        return

    def call(lib: Any) -> Any:
        value = lib.tensor(number, dtype=getattr(lib, source))
        return WRITES[name](lib, lib.zeros(2, dtype=getattr(lib, dtype)), value)

    agree(call)


LEAVES: Final[list[Callable[[Any], Any]]] = [
    lambda lib: 2,
    lambda lib: 1.5,
    lambda lib: True,
    lambda lib: np.float64(2.5),
    lambda lib: np.float16(2.5),
    lambda lib: np.int32(3),
    lambda lib: np.int8(3),
    lambda lib: np.complex64(1j),
    lambda lib: lib.tensor(2, dtype=lib.int16),
    lambda lib: lib.tensor(2.5, dtype=lib.float64),
]


@law
@given(st.lists(st.sampled_from(LEAVES), min_size=1, max_size=3), st.booleans())
def test_dtypes_of_lists(leaves: list[Callable[[Any], Any]], nested: bool) -> None:
    """Scalars of NumPy's and tensors keep their dtypes, which promote together."""

    def call(lib: Any) -> Any:
        made = [leaf(lib) for leaf in leaves]
        return lib.tensor([made, made] if nested else made)

    agree(call)


@law
@given(NUMBERS, NUMBERS, st.sampled_from(["uint8", "int8", "float16", "float32"]))
def test_ends_of_linspace(start: Any, end: Any, dtype: str) -> None:
    """Both ends fit the dtype."""
    agree(lambda lib: lib.linspace(start, end, 2, dtype=getattr(lib, dtype)))


SHAPES: Final = st.lists(st.integers(0, 2), max_size=3).map(tuple)


@law
@given(SHAPES, st.integers(-2, 2), st.booleans())
def test_distinct_slices(shape: tuple[int, ...], dim: int, consecutive: bool) -> None:
    """Slices without elements are refused, and dims of a tensor without any."""
    name = "unique_consecutive" if consecutive else "unique"
    agree(lambda lib: getattr(lib, name)(lib.ones(shape), dim=dim))


@law
@given(st.sampled_from([(2,), (3, 2), (1, 2)]), st.sampled_from([(1,), (2, 3), (3,)]))
def test_weights_expand(shape: tuple[int, ...], own: tuple[int, ...]) -> None:
    """Weights of a loss make no more losses than there are elements."""
    for name in ("weight", "pos_weight"):
        agree(lambda lib, n=name: lib.nn.functional.binary_cross_entropy_with_logits(
            lib.ones(shape), lib.ones(shape), **{n: lib.full(own, 2.0)}
        ))  # fmt: skip
    agree(lambda lib: lib.nn.functional.binary_cross_entropy(
        lib.full(shape, 0.5), lib.ones(shape), weight=lib.full(own, 2.0)
    ))  # fmt: skip


BATCHES: Final = st.sampled_from([(), (1,), (3,), (2, 3)])


@law
@given(BATCHES, BATCHES, st.integers(1, 2), st.integers(1, 3))
def test_bilinear_shapes(first: Any, second: Any, n: int, m: int) -> None:
    """Batches are the same, and widths those of the weight: nothing broadcasts."""
    agree(lambda lib: lib.nn.functional.bilinear(
        lib.ones((*first, n)), lib.ones((*second, m)), lib.ones(4, 2, 3)
    ))  # fmt: skip


@law
@given(
    st.sampled_from(["float16", "bfloat16", "float32", "float64"]),
    st.sampled_from(["float16", "bfloat16", "float32", "float64"]),
)
def test_norms_never_narrow(own: str, wanted: str) -> None:
    """The dtype of a norm holds what the input's does."""
    agree(lambda lib: lib.ones(2, dtype=getattr(lib, own)).norm(
        dtype=getattr(lib, wanted)
    ))  # fmt: skip


@pytest.mark.parametrize("depth", [300, 3000])
@pytest.mark.parametrize("name", ["tensor", "as_tensor"])
def test_lists_without_end(name: str, depth: int) -> None:
    """Lists that are too deep, or hold themselves, are refused."""
    deep: Any = 1
    for _ in range(depth):
        deep = [deep]
    itself: list[Any] = []
    itself += [itself, itself]
    for data in (deep, itself):
        assert answers(lambda lib, d=data: getattr(lib, name)(d)) is None
