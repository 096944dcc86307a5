"""Calls that random programs found to differ, each beside torch."""

from __future__ import annotations

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
    "np.ones(2) / f", "np.ones((1, 2)) / f", "np.ones((2, 1)) / i",
)  # fmt: skip
REFUSED: Final = (
    "float(f)", "int(f)", "complex(f)", "f.item()", "L.ones(2).mT",
    "L.tensor([[]]).nanmedian(dim=-1)", "L.tensor([[]]).median(dim=-1)",
    "L.ones(3, 3)[[0, 1], [0, 1, 2]]", "L.ones(3, 3).diagonal(0, 1, 1)",
    "L.ones(3, 3)[[True, False, True], [0, 1, 2]]", "L.ones(3, 3).flatten(1, 0)",
    "L.tensor(1.0).split(1)", "L.tensor(1.0).chunk(1)", "L.tensor(1.0).narrow(0, 0, 1)",
    "L.tensor(1.0).tensor_split(2)", "L.tensor(1.0).unflatten(0, (1, 1))",
    "L.where(i, f, h)", "L.where(f, f, h)",
    "L.ones(3, 3).diagonal(0, 0, 3)", "L.ones(3).flatten(0, 2)",
)  # fmt: skip


def _made(lib: Any, call: str) -> Any:
    names = {
        "L": lib, "np": np, "f": lib.tensor([1.5, 2.0]),
        "h": lib.tensor([1.5, -2.0], dtype=lib.float16),
        "i": lib.tensor([1, 2], dtype=lib.int32),
        "b": lib.tensor([2, 1], dtype=lib.uint8),
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
