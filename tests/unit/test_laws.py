"""Laws that hold for every op, whatever it computes.

Layout, aliasing and untouched inputs are where kernels go wrong in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import bare, laws

import dovetail as dt
from dovetail.core.cases import Case, cases_of
from dovetail.core.op import Op, declared
from dovetail.core.signature import Signature

OPS = [op for op in declared() if op.tensors]
Layout = Callable[[dt.Tensor], dt.Tensor]


@pytest.fixture(scope="module", autouse=True)
def _bare_device() -> Iterator[None]:
    bare.install()
    dt.set_fallback_policy("error")
    yield
    dt.set_fallback_policy("warn")


def columns(x: dt.Tensor) -> dt.Tensor:
    """The same values, stored with the dims in reverse order."""
    order = tuple(reversed(range(x.ndim)))
    return x.permute(order).clone().permute(order)


def strided(x: dt.Tensor) -> dt.Tensor:
    """The same values, every second element of larger memory, not from its start."""
    wide = dt.zeros(*(2 * n + 3 for n in x.shape), dtype=x.dtype, device=x.device)
    view = wide[tuple(slice(1, 2 * n + 1, 2) for n in x.shape)]
    view.copy_(x)
    return view


LAYOUTS: dict[str, Layout] = {"columns": columns, "strided": strided}


def laid_out(value: Any, layout: Layout) -> Any:
    """Arguments with every tensor in another layout."""
    if isinstance(value, dt.Tensor):
        return layout(value)
    if isinstance(value, list):
        return [laid_out(v, layout) for v in value]
    return value


def dtype_of(op: Op) -> Any:
    """A float where the op takes one, else what it takes first."""
    return laws.dtypes_of(op)[0]


def call(
    op: Op, case: Case, device: str, layout: Layout | None
) -> list[np.ndarray[Any, Any]]:
    """Results of a case, with its tensors in a layout."""
    args, kwargs = laws.arguments(op, case, device, dtype_of(op))
    if layout is not None:
        args = [laid_out(a, layout) for a in args]
        kwargs = {k: laid_out(v, layout) for k, v in kwargs.items()}
    return [laws.values(y) for y in laws.call(op, args, kwargs)]


@pytest.mark.parametrize("device", ["cpu", "bare"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_layout_does_not_matter(op: Op, layout: str, device: str) -> None:
    """Transposed and strided inputs give what contiguous ones give."""
    if op.name in {"view", "as_strided", "empty"}:
        return  # defined by the layout of their input, or by nothing
    if device == "bare" and dtype_of(op) not in (dt.float32, dt.int32, dt.bool):
        return
    rtol = 1e-5 if dtype_of(op).is_inexact else 0
    for case in cases_of(op, dtype_of(op)):
        plain = call(op, case, device, None)
        other = call(op, case, device, LAYOUTS[layout])
        for a, b in zip(plain, other, strict=True):
            np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol, err_msg=op.name)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_inputs_are_left_alone(op: Op) -> None:
    """No op writes what it does not declare to write, nor bumps its version."""
    for case in cases_of(op, dtype_of(op)):
        args, kwargs = laws.arguments(op, case, "cpu", dtype_of(op))
        bound = dict(zip(op.names, op.bind(args, kwargs), strict=True))
        watched = {
            name: (value, laws.values(value), value._version)
            for name, value in bound.items()
            if isinstance(value, dt.Tensor) and name not in op.mutates
        }
        op.function(*args, **kwargs)
        for name, (value, before, version) in watched.items():
            np.testing.assert_array_equal(laws.values(value), before, err_msg=name)
            assert value._version == version


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_results_have_memory_of_their_own(op: Op) -> None:
    """Only views share memory with their input; the others never do."""
    for case in cases_of(op, dtype_of(op)):
        args, kwargs = laws.arguments(op, case, "cpu", dtype_of(op))
        if op.mutates:
            continue
        inputs = [a for a in args if isinstance(a, dt.Tensor)]
        for y in laws.call(op, args, kwargs):
            shares = any(np.may_share_memory(y._a, x._a) and y._a.size for x in inputs)
            if not op.view:
                assert not shares or y._storage is not None, op.name


SIGNED = [
    op for op in OPS
    if isinstance(op.shape, Signature) and not op.rest and not op.mutates
    and not op.has_list and not op.indices and not op.masks and op.oracle
    and dt.float64 in op.accepts
]  # fmt: skip


@st.composite
def operands(draw: st.DrawFn, op: Op) -> list[np.ndarray[Any, Any]]:
    """Arrays that fit a signature: core dims by letter, batch dims that broadcast."""
    sizes = {
        letter: draw(st.integers(1, 4), label=letter)
        for core in op.shape.inputs
        for letter in core.names
    }
    batch = draw(st.lists(st.integers(0, 3), max_size=3))
    arrays = []
    cores = op.shape.inputs
    if len(cores) != len(op.tensors):
        cores = [cores[0]] * len(op.tensors)
    for core in cores:
        cut = draw(st.integers(0, len(batch)))
        lead = [1 if draw(st.booleans()) and n else n for n in batch[cut:]]
        shape = (*lead, *(sizes[n] for n in core.names))
        seed = draw(st.integers(0, 99))
        low, high = op.domain
        arrays.append(np.random.default_rng(seed).uniform(low, high, shape))
    return arrays


@pytest.mark.parametrize("op", SIGNED, ids=lambda op: op.name)
def test_any_shapes_of_the_signature(op: Op) -> None:
    """Drawn shapes, broadcast and empty ones among them, give what the oracle says."""

    @settings(max_examples=15, deadline=None, derandomize=True, database=None)
    @given(operands(op))
    def agrees(arrays: list[np.ndarray[Any, Any]]) -> None:
        case = Case(tuple(arrays))
        try:
            want = laws.truth(op, case, dt.float64)
        except ValueError:
            return  # the op's own condition on sizes, which signatures do not say
        got = laws.call(op, *laws.arguments(op, case, "cpu", dt.float64))
        for y, reference in zip(got, want, strict=True):
            laws.close(op, y, reference, f" {[a.shape for a in arrays]}")

    agrees()
