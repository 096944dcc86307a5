"""Attention by generated kernels: values, hidden keys, what is not finite, memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail
from dovetail.codegen import eager_attention as large
from dovetail.codegen.runtime import available
from dovetail.codegen.runtime.blas import blas
from dovetail.xp.attention import Attention

pytestmark = pytest.mark.skipif(
    not available() or blas() is None, reason="needs llvmlite and OpenBLAS"
)

Array = np.ndarray[Any, Any]
NUMPY = Attention(np)


@pytest.fixture
def threads() -> Iterator[None]:
    before = dovetail.get_num_threads()
    yield
    dovetail.set_num_threads(before)


def truth(
    q: Array, k: Array, v: Array, causal: bool, scale: float, mask: Any = None
) -> Array:
    """Attention in long double, all weights at once."""
    q, k, v = (x.astype(np.longdouble) for x in (q, k, v))
    scores = np.einsum("...le,...se->...ls", q * scale, k)
    scores = scores if mask is None else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    y: Array = np.einsum("...ls,...sv->...lv", e / e.sum(-1, keepdims=True), v)
    return y


def slopes(
    ct: Array, q: Array, k: Array, v: Array, causal: bool, scale: float,
    mask: Any = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The gradients, in long double."""
    ct, q, k, v = (x.astype(np.longdouble) for x in (ct, q, k, v))
    scores = np.einsum("...le,...se->...ls", q * scale, k)
    scores = scores if mask is None else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    through = np.einsum("...lv,...sv->...ls", ct, v)
    through = p * (through - (p * through).sum(-1, keepdims=True)) * scale
    return (
        np.einsum("...ls,...se->...le", through, k),
        np.einsum("...ls,...le->...se", through, q),
        np.einsum("...ls,...lv->...sv", p, ct),
    )


HIDES = ("nothing", "later", "each", "keys", "whole", "gaps", "turned")


def masked(rng: Any, kind: str, q: Array, k: Array) -> Array:
    """A mask for scores: one for all, for keys alone, or lying in some other way."""
    lead, length, keys = q.shape[:-2], q.shape[-2], k.shape[-2]
    shape = {
        "whole": (length, keys), "keys": (*lead[:1], *[1] * len(lead[1:]), 1, keys),
        "turned": (*lead, keys, length), "gaps": (length, 2 * keys),
    }  # fmt: skip
    found = rng.normal(size=shape.get(kind, (*lead, length, keys))).astype(q.dtype)
    found[rng.random(found.shape) < 0.3] = -np.inf
    found = found.swapaxes(-1, -2) if kind == "turned" else found
    found = found[:, ::2] if kind == "gaps" else found
    found[..., 0] = 0.5  # each query sees a key
    return found


sizes = st.tuples(
    st.lists(st.integers(1, 3), max_size=2), st.integers(1, 150), st.integers(1, 150),
    st.integers(1, 40), st.integers(1, 40),
)  # fmt: skip


@given(
    sizes=sizes, hides=st.sampled_from(HIDES), dtype=st.sampled_from(["f4", "f8"]),
    turned=st.booleans(), scale=st.sampled_from([0.5, -1.0]),
    block=st.sampled_from([1 << 8, 1 << 11, 1 << 17]), seed=st.integers(0, 99),
)  # fmt: skip
@settings(deadline=None)
def test_values_and_gradients(
    sizes: Any,
    hides: str,
    dtype: str,
    turned: bool,
    scale: float,
    block: int,
    seed: int,
) -> None:
    """Any sizes, in blocks of any size, agree with long double however operands lie."""
    lead, length, keys, width, depth = sizes
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> Array:
        if turned and len(shape) > 2:  # heads beside each other, as layers make them
            first, *rest, rows, columns = shape
            x = rng.normal(size=(rows, first, *rest, columns)).astype(dtype)
            return np.moveaxis(x, 0, -2)
        return rng.normal(size=shape).astype(dtype)

    q, k, v = drawn(*lead, length, width), drawn(*lead, keys, width), None
    v, ct = drawn(*lead, keys, depth), drawn(*lead, length, depth)
    causal = hides == "later"
    mask = None if hides in ("nothing", "later") else masked(rng, hides, q, k)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(large, "_BLOCK", block)
        y = large.forward(q, k, v, mask, causal, scale)
        gradients = large.backward(ct, q, k, v, mask, causal, scale)
    close = {"f4": 2e-5, "f8": 1e-13}[dtype]
    assert y is not None
    assert gradients is not None
    np.testing.assert_allclose(
        y, truth(q, k, v, causal, scale, mask), rtol=0, atol=close
    )
    wanted = slopes(ct, q, k, v, causal, scale, mask)
    for got, want in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=close * length)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("place", ["q", "k", "v", "ct"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize(("length", "keys"), [(40, 40), (40, 30), (30, 40)])
def test_what_is_not_finite_is_left_to_others(
    causal: bool, place: str, value: float, length: int, keys: int
) -> None:
    """One infinite element anywhere, hidden keys too, and others compute the result."""
    rng = np.random.default_rng(1)
    shapes = {"q": (2, length, 8), "k": (2, keys, 8), "v": (2, keys, 8)}
    shapes["ct"] = shapes["q"]
    given = {name: rng.normal(size=s).astype("f4") for name, s in shapes.items()}
    given[place][1, -1, 3] = value
    ct = given.pop("ct")
    q, k, v = given.values()
    with np.errstate(all="ignore"):
        wanted = NUMPY.forward(q, k, v, None, causal, 0.3)
        slopes = NUMPY.backward(ct, q, k, v, None, causal, 0.3)
    if not np.isfinite(wanted).all():
        assert large.forward(q, k, v, None, causal, 0.3) is None
    if not all(np.isfinite(g).all() for g in slopes):
        assert large.backward(ct, q, k, v, None, causal, 0.3) is None


def test_a_single_row_may_lie_anyhow() -> None:
    """The stride of a dim of one row says nothing, and is not BLAS's line length."""
    rng = np.random.default_rng(5)
    one, v = rng.normal(size=(2, 1, 6)), rng.normal(size=(2, 1, 6))
    odd = np.lib.stride_tricks.as_strided(one, one.shape, (one.strides[0], 0, 8))
    y = large.forward(odd, odd, v, None, False, 1.0)
    assert y is not None
    np.testing.assert_allclose(y, v)


@pytest.mark.usefixtures("threads")
def test_threads_change_no_bit() -> None:
    """One, two and five threads give the same bits."""
    rng = np.random.default_rng(2)
    q, k, v = (rng.normal(size=(3, 200, 24)).astype("f4") for _ in range(3))
    found = []
    for count in (1, 2, 5):
        dovetail.set_num_threads(count)
        y, slopes = (
            large.forward(q, k, v, None, True, 0.2),
            large.backward(v, q, k, v, None, True, 0.2),
        )
        assert y is not None
        assert slopes is not None
        found.append(b"".join(a.tobytes() for a in (y, *slopes)))
    assert found[0] == found[1] == found[2]


def test_nothing_beyond_results_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results and working memory keep the bytes around them, in blocks of odd sizes."""
    around: list[tuple[Array, int, int]] = []
    empty = np.empty

    def guarded(shape: Any, dtype: Any = float) -> Array:
        wanted = np.dtype(dtype)
        count = int(np.prod(shape)) * wanted.itemsize
        whole = np.full(count + 256, 0xA5, np.uint8)
        around.append((whole, 128, count))
        return whole[128 : 128 + count].view(wanted).reshape(shape)

    rng = np.random.default_rng(3)
    q, k, v = (rng.normal(size=(3, n, 7)).astype("f4") for n in (37, 53, 53))
    monkeypatch.setattr(large, "_BLOCK", 900)
    monkeypatch.setattr(large.np, "empty", guarded)
    assert large.forward(q, k, v, None, False, 0.2) is not None
    assert large.backward(q, q, k, v, None, True, 0.2) is not None
    monkeypatch.setattr(large.np, "empty", empty)
    assert len(around) >= 6
    for whole, start, count in around:
        assert (whole[:start] == 0xA5).all()
        assert (whole[start + count :] == 0xA5).all()


def test_threads_call_together() -> None:
    """Calls in several threads do not touch each other's blocks."""
    rng = np.random.default_rng(4)
    given = [
        [rng.normal(size=(4, 64, 16)).astype("f4") for _ in range(3)] for _ in "abc"
    ]
    wanted = [large.forward(*each, None, True, 0.3) for each in given]
    wrong: list[int] = []

    def call(number: int) -> None:
        for _ in range(50):
            y = large.forward(*given[number], None, True, 0.3)
            if y is None or wanted[number] is None or (y != wanted[number]).any():
                wrong.append(number)

    running = [threading.Thread(target=call, args=(i,)) for i in range(3)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not wrong
