"""Products of CuPy devices: every way operands may lie, by a cuBLAS on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.accelerators.host_blas import AddressedNumpy, HostBlas, addressed

from dovetail.dtypes import by_name
from dovetail_cupy.cublas import FORMATS
from dovetail_cupy.products import Products

SIZES = st.integers(0, 4)
LEADS = st.lists(st.integers(1, 3), max_size=2).map(tuple)


@st.composite
def operands(draw: Any) -> tuple[Any, Any, Any]:
    """Two arrays that have a product, lying in any way, and a row or None."""
    m, n, k = draw(SIZES), draw(SIZES), draw(SIZES)
    lead = draw(LEADS)
    dtype = draw(st.sampled_from(sorted(FORMATS)))
    kept = [d if draw(st.booleans()) else 1 for d in lead][draw(st.integers(0, 2)) :]
    a = draw(laid((*lead, m, k), dtype))
    b = draw(laid((*kept, k, n), dtype))
    row = draw(laid((n,), dtype)) if draw(st.booleans()) else None
    return a, b, row


@st.composite
def laid(draw: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """An array of small whole numbers: dims exchanged, gaps, and steps back."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 2, -1])) for _ in shape]
    wide = [shape[d] * abs(steps[d]) for d in order]
    seed = draw(st.integers(0, 99))
    numbers = np.random.default_rng(seed).integers(-3, 4, wide)
    whole = numbers.astype(by_name(dtype).numpy).transpose(np.argsort(order))
    return addressed(whole[tuple(slice(None, None, s) for s in steps)])


@given(operands())
def test_products_of_what_lies_in_any_way(drawn: tuple[Any, Any, Any]) -> None:
    """They are NumPy's, of whole numbers to the last bit."""
    a, b, row = drawn
    products = Products(AddressedNumpy(), HostBlas())
    want = a.astype("complex128") @ b.astype("complex128")
    for _ in range(2):  # the second time it is known how they lie
        assert np.array_equal(products.matmul(a, b).astype("complex128"), want)
    into = addressed(np.full((*want.shape, 2), 9, a.dtype)[..., 0])  # with gaps
    assert np.array_equal(products.matmul(a, b, into).astype("complex128"), want)
    assert np.array_equal(into.astype("complex128"), want)
    if b.ndim == 2 and b.shape[0]:
        products.linear(a, b.T, None)
        got = products.linear(a, b.T, row)
        want = want if row is None else want + row.astype("complex128")
        assert np.array_equal(got.astype("complex128"), want)


@given(operands(), st.sampled_from([1.0, -0.5, 0.0]), st.booleans())
def test_products_in_more_digits(
    drawn: tuple[Any, Any, Any], factor: float, adds: bool
) -> None:
    """Sums of 16-bit floats can be had in float32, times a factor, and added."""
    a, b, _ = drawn
    products = Products(AddressedNumpy(), HostBlas())
    want = (a.astype("complex128") @ b.astype("complex128")) * factor
    half = a.dtype.itemsize == 2 and a.dtype.kind != "c"
    dtype = np.dtype("float32") if half else a.dtype
    for _ in range(2):
        onto = addressed(np.full(want.shape, 3, dtype)) if adds and factor else None
        got = products.wide(a, b, onto, factor)
        assert got.dtype == dtype
        assert onto is None or np.shares_memory(got, onto) or not got.size
        extra = 0 if onto is None else 3
        assert np.array_equal(got.astype("complex128"), want + extra)


def test_nothing_times_infinity_is_none() -> None:
    """A factor of 0 reads its operands."""
    a = addressed(np.array([[np.inf]], "f4"))
    b = addressed(np.ones((1, 1), "f4"))
    with np.errstate(invalid="ignore"):
        y = Products(AddressedNumpy(), HostBlas()).wide(a, b, factor=0.0)
    assert np.isnan(y)


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)),
                                    ((2, 4, 3), (3,)), ((3,), (2, 3, 4))])  # fmt: skip
def test_vectors(shapes: tuple[tuple[int, ...], ...]) -> None:
    """A vector is a row or a column, and its dim is gone afterwards."""
    a, b = (addressed(np.arange(np.prod(s), dtype="f4").reshape(s)) for s in shapes)
    assert np.array_equal(Products(AddressedNumpy(), HostBlas()).matmul(a, b), a @ b)


def test_a_product_where_the_caller_wants_it() -> None:
    """Rows of a larger array are written, and nothing beside them; without a copy."""
    whole = addressed(np.zeros((2, 5, 7), "f4"))
    a, b = (addressed(np.ones(s, "f4")) for s in ((2, 3, 4), (4, 2)))
    xp = AddressedNumpy()
    xp.empty = None  # type: ignore[attr-defined]
    products = Products(xp, HostBlas())
    products.matmul(a, b, whole[:, 1:4, 2:4])
    assert np.all(whole[:, 1:4, 2:4] == 4)
    assert whole.sum() == 4 * 2 * 3 * 2


def test_a_transposed_batch_is_not_copied() -> None:
    """Heads of an attention, as views of one array: one call, and no copy."""
    whole = addressed(np.arange(2 * 5 * 3 * 4, dtype="f4").reshape(2, 5, 3, 4))
    q = whole.transpose(0, 2, 1, 3)[0]
    xp = AddressedNumpy()
    xp.ascontiguousarray = None  # type: ignore[attr-defined]
    blas = HostBlas()
    y = Products(xp, blas).matmul(q, q.transpose(0, 2, 1))
    assert np.array_equal(y, np.asarray(q) @ np.asarray(q).transpose(0, 2, 1))
    assert blas.calls == 1


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2,), (3,))])
def test_what_does_not_fit(shapes: tuple[tuple[int, ...], ...]) -> None:
    """ValueError, as core asks of kernels that check."""
    a, b = (addressed(np.zeros(s, "f4")) for s in shapes)
    with pytest.raises(ValueError, match="do not fit"):
        Products(AddressedNumpy(), HostBlas()).matmul(a, b)
