"""Calls that random programs found to differ, each beside torch."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings(  # torch's own
    "ignore::UserWarning", "ignore::DeprecationWarning"
)

# L is the library; f, h, i, b are two numbers of float32, float16, int32, uint8.
SAME: Final = (
    "f + L.tensor(1j, dtype=L.complex128)", "f * L.tensor(1j, dtype=L.complex128)",
    "L.ones(0) / L.tensor(1j, dtype=L.complex128)", "f.double() + L.tensor(1j)",
    "L.tensor(1j, dtype=L.complex128) + (f > 0)", "i + L.tensor(1j).cdouble()",
    "L.add(h, b, alpha=0.5)", "L.sub(h, i, alpha=0.5)", "L.add(i, b, alpha=300)",
    "L.add(h.bfloat16(), i, alpha=0.5)", "L.rsub(h, i, alpha=0.5)",
    "L.add(f.double(), f, alpha=0.1)", "h.add_(i, alpha=0.5)",
    "b.int().sub_(b, alpha=9)",
    "L.tensor(3 + 4j).mH", "L.tensor(3 + 4j).adjoint()", "L.tensor(3 + 4j).H",
    "L.tensor(3 + 4j).mT", "L.tensor(3.0).mT", "L.arange(np.int64(3))",
    "L.arange(np.int32(1), np.int64(3))", "L.arange(np.float64(3))",
    "L.vander(L.tensor([float('nan')]))", "L.vander(L.tensor([float('inf'), 2.0]))",
    "L.ldexp(h, i)", "L.ldexp(h.bfloat16(), b)", "L.ldexp(h, f)", "L.ldexp(i, i)",
    "L.unravel_index(b, (2, 3))[1].clone()", "L.unravel_index(i, (2, 3))[0].clone()",
    "L.where(b > 1, f, 0.0)", "L.where(b - 1, f, 0.0)", "f.where(b - 1, -f)",
    "L.where(b - 1, 3, 4)", "L.where(b, f, h, out=L.empty(2))",
    "L.split(L.arange(4.0), L.tensor(2))[1]",
    "L.sum(f, 0, out=L.zeros((), dtype=L.int64))",
    "L.prod(f, 0, out=L.zeros((), dtype=L.int64))",
    "L.sum(i, 0, out=L.zeros((), dtype=L.float16))",
    "L.cumsum(f, 0, out=L.zeros(2, dtype=L.int64))",
    "L.cumsum(i, 0, out=L.zeros(2, dtype=L.int16))",
    "L.cumprod(f, 0, out=L.zeros(2, dtype=L.int64))",
    "L.einsum('ij->ji', m)", "L.einsum('ii->i', m)", "L.einsum('ji', m)",
    "L.einsum('iii->i', L.arange(27).reshape(3, 3, 3))", "L.einsum('ij->i', m > 1)",
    "L.einsum('ij->i', m.byte())", "L.einsum('...ii->...', L.ones(3, 2, 2))",
    "L.einsum('ij->', m.int())", "L.einsum('iij->ji', L.ones(2, 2, 3))",
    "(L.einsum('ij->ji', m).fill_(1), m)[1]", "(L.einsum('ii->i', m).fill_(1), m)[1]",
    "L.nan_to_num(z)", "L.nan_to_num(z, 1.0, 2.0, 3.0)", "z.nan_to_num_(posinf=9)",
    "m[1:].resize_(2, 1)", "m.t().resize_(3)", "m[:, 1].resize_(2)",
    "m[:, 1].resize_(2, 1)", "(m[1:].resize_(1).fill_(9), m)[1]",
    "L.ones(1, 1, 3).squeeze(0, 1)", "L.ones(1, 1, 3).squeeze_(0, 1)",
    "L.ones(1, 1, 3).squeeze()", "L.ones(1, 2, 1).squeeze(-1)",
    "L.ones(1, 2, 1).squeeze(dim=0)", "L.ones(1, 2, 1).squeeze((0, 2))",
    "m.count_nonzero(0, 1)", "m.count_nonzero()", "m.count_nonzero(dim=1)",
    "np.ones(2) / f", "np.ones((1, 2)) / f", "np.ones((2, 1)) / i",
)  # fmt: skip
REFUSED: Final = (
    "L.hardshrink(f, out=L.empty(0, dtype=L.float16))",
    "L.zeros(()).copy_(L.ones(1))", "L.zeros(3).copy_(L.ones(1, 3))",
    "L.zeros(0).copy_(L.ones(1, 0))", "L.zeros(2, 3).copy_(L.ones(1, 1, 3))",
    "L.nn.functional.instance_norm(L.ones(2, 3, 4), use_input_stats=False)",
    "L.nn.functional.instance_norm(L.ones(0), f, f, use_input_stats=False)",
    "L.nn.functional.instance_norm(L.ones(0), f, use_input_stats=False)",
    "float(f)", "int(f)", "complex(f)", "f.item()", "L.ones(2).mT",
    "L.tensor([[]]).nanmedian(dim=-1)", "L.tensor([[]]).median(dim=-1)",
    "L.ones(3, 3)[[0, 1], [0, 1, 2]]", "L.ones(3, 3).diagonal(0, 1, 1)",
    "L.ones(3, 3)[[True, False, True], [0, 1, 2]]", "L.ones(3, 3).flatten(1, 0)",
    "L.tensor(1.0).split(1)", "L.tensor(1.0).chunk(1)", "L.tensor(1.0).narrow(0, 0, 1)",
    "L.tensor(1.0).tensor_split(2)", "L.tensor(1.0).unflatten(0, (1, 1))",
    "L.nn.functional.instance_norm(L.ones(2, 3, 4), L.zeros(3))",
    "L.nn.functional.instance_norm(L.ones(2, 3, 4), None, L.zeros(3))",
    "L.linalg.vector_norm(f, out=L.zeros((), dtype=L.float64))",
    "L.where(i, f, h)", "L.where(f, f, h)",
    "L.ones(3, 3).diagonal(0, 0, 3)", "L.ones(3).flatten(0, 2)",
)  # fmt: skip


# Of the wrong kind: both raise a TypeError.
MISTAKEN: Final = (
    "L.split(L.ones(4), np.int64(2))", "L.ones(4).split(np.int64(4))",
    "L.split(L.ones(4), 2.0)", "L.split(L.ones(4), L.tensor([2, 2]))",
    "L.sparse_coo_tensor(iter([1, 2]))",
    "L.sparse_coo_tensor(indices=iter([1, 2]), dtype=L.uint8)",
    "L.dist(f, f, out=L.zeros(()))", "L.sparse_coo_tensor((2, 2), is_coalesced=True)",
    "L.sparse_coo_tensor(size=(2, 2), is_coalesced=False)",
    "L.sparse_coo_tensor(range(2))", "L.sparse_coo_tensor(L.tensor([1, 2]))",
)  # fmt: skip


def _made(lib: Any, call: str) -> Any:
    names = {
        "L": lib, "np": np, "f": lib.tensor([1.5, 2.0]),
        "h": lib.tensor([1.5, -2.0], dtype=lib.float16),
        "i": lib.tensor([1, 2], dtype=lib.int32),
        "b": lib.tensor([2, 1], dtype=lib.uint8),
        "m": lib.arange(4.0).reshape(2, 2),
        "z": lib.tensor([complex("nan+1j"), complex(2, math.inf), -math.inf + 0j]),
    }  # fmt: skip
    return eval(call, names)


@pytest.mark.parametrize("call", SAME)
def test_values_dtypes_and_strides_are_torchs(call: str) -> None:
    ours, theirs = _made(dt, call), _made(torch, call)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.stride() == theirs.stride()
    wide = "complex128" if theirs.is_complex() else "float64"
    ours, theirs = (y.resolve_conj().to(getattr(lib, wide)) for y, lib in
                    ((ours, dt), (theirs, torch)))  # fmt: skip
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("call", REFUSED)
def test_what_torch_refuses_is_caught_by_the_same_class(call: str) -> None:
    with pytest.raises((RuntimeError, ValueError, IndexError)) as theirs:
        _made(torch, call)
    with pytest.raises(type(theirs.value)):
        _made(dt, call)


@pytest.mark.parametrize("call", MISTAKEN)
def test_what_is_of_the_wrong_kind_is_refused_as_such(call: str) -> None:
    for lib in (torch, dt):
        with pytest.raises(TypeError):
            _made(lib, call)


def test_values_of_more_dims_are_assigned_but_not_copied() -> None:
    """Leading dims of size 1 are nothing to an assignment."""
    for lib in (torch, dt):
        x = lib.zeros(2, 3)
        x[0] = lib.ones(1, 3)
        x[1:, :2] = lib.full((1, 1, 2), 2.0)
        assert x.tolist() == [[1, 1, 1], [2, 2, 0]]
