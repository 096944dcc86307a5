"""Parts of complex numbers are views as torch has them: values, strides, sharing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt

torch = pytest.importorskip("torch")


def _numbers(lib: Any) -> Any:
    return lib.tensor([[1 + 2j, 3 - 4j], [0.5j, 2]])


def _of_no_dims(lib: Any) -> Any:
    z = lib.tensor(1 + 2j)
    z.real.fill_(5)
    return z, lib.view_as_real(z), lib.view_as_complex(lib.tensor([1.0, 2.0]))


def _written_by_parts(lib: Any) -> Any:
    z = _numbers(lib)
    z.real += 1
    z.imag[z.real > 2] = 0
    lib.view_as_real(z).select(-1, 1)[0].neg_()
    lib.add(z.real, 1, out=z.imag)
    return z


def _layouts(lib: Any) -> Any:
    z = _numbers(lib).T
    parts = [z.real, z.imag, lib.view_as_real(z)]
    return [p.stride() for p in parts], [p.storage_offset() for p in parts]


def _seen(lib: Any) -> Any:
    z = _numbers(lib)
    part, pairs = z.imag, lib.view_as_real(z)
    before = part._version
    z.mul_(1j)
    return part, pairs, part._version - before, part._base is z, pairs._is_view()


PROGRAMS: Final[dict[str, Callable[[Any], Any]]] = {
    "no dims": _of_no_dims,
    "written by parts": _written_by_parts,
    "strides and offsets": _layouts,
    "a write to the whole is seen": _seen,
    "of no elements": lambda lib: [
        lib.view_as_real(lib.zeros(0, 3, dtype=lib.complex64)),
        lib.view_as_complex(lib.zeros(3, 0, 2)), lib.view_as_complex(lib.zeros(0, 2)),
    ],
    "strided pairs": lambda lib: lib.view_as_complex(
        lib.arange(12.0).view(2, 6)[:, :2]
    ),
    "NumPy's": lambda lib: _numbers(lib).real.numpy().strides,
}  # fmt: skip


def _plain(found: Any) -> Any:
    if isinstance(found, (dt.Tensor, torch.Tensor)):
        return np.asarray(found.numpy()).tolist(), tuple(found.shape)
    return [_plain(v) for v in found] if isinstance(found, (list, tuple)) else found


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    """What a program sees is what it sees with torch."""
    assert _plain(PROGRAMS[name](dt)) == _plain(PROGRAMS[name](torch))
