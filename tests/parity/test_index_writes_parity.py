"""Writes at indices beside torch: which dtypes are cast, and floats of 8 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

import dovetail as dt

torch = pytest.importorskip("torch")

DTYPES: Final = ("float32", "float64", "int64", "bool", "complex64", "bfloat16")
INDICES: Final[dict[str, Callable[[Any], Any]]] = {
    "indices": lambda lib: lib.tensor([0, 2]), "a list": lambda _: [0, 2],
    "a mask": lambda lib: lib.tensor([True, False, True]),
    "an index": lambda lib: lib.tensor(1), "a slice": lambda _: slice(2),
    "both": lambda lib: (slice(0, 2), lib.tensor([0, 1])),
}  # fmt: skip
FORMATS: Final = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")


def _outcome(lib: Any, where: str, to: str, given: str, shape: tuple[int, ...]) -> Any:
    x = lib.zeros((3, 3) if where == "both" else (3,), dtype=getattr(lib, to))
    value = lib.ones(shape, dtype=getattr(lib, given))
    try:
        x[INDICES[where](lib)] = value
    except RuntimeError:
        return "refused", x.tolist()
    return x.tolist()


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, of parts of complex
@pytest.mark.parametrize("where", INDICES)
@pytest.mark.parametrize("shape", [(2,), (1,), ()])
def test_what_is_cast(where: str, shape: tuple[int, ...]) -> None:
    """Values are cast for views and one masked value, and refused at places."""
    if where == "an index" and shape == (2,):
        return  # one place takes one value
    for to in DTYPES:
        for given in DTYPES:
            want = _outcome(torch, where, to, given, shape)
            assert _outcome(dt, where, to, given, shape) == want, (to, given)


def _write_places(lib: Any, x: Any, value: Any) -> Any:
    x = x.clone()
    x[lib.tensor([0, 2])] = value
    return x


def _write_number(lib: Any, x: Any, value: Any) -> Any:
    x = x.clone()
    x[lib.tensor([0, 2])] = 3.0
    return x


def _write_mask(lib: Any, x: Any, value: Any) -> Any:
    x = x.clone()
    x[lib.tensor([True, False, False, True])] = value
    return x


def _put(lib: Any, x: Any, value: Any) -> Any:
    return x.index_put((lib.tensor([3, 0]),), value)


def _put_in_place(lib: Any, x: Any, value: Any) -> Any:
    return x.clone().index_put_((lib.tensor([3, 0]),), value)


def _add(lib: Any, x: Any, value: Any) -> Any:
    return x.index_put((lib.tensor([3, 0]),), value, accumulate=True)


def _taken(lib: Any, x: Any, value: Any) -> Any:
    return x[lib.tensor([1, 3])]


WRITES: Final = (
    _write_places, _write_number, _write_mask, _put, _put_in_place, _add, _taken,
)  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("write", WRITES)
def test_floats_of_8_bits(name: str, write: Callable[[Any, Any, Any], Any]) -> None:
    """Elements are torch's, and gradients reach what was kept and what was written."""
    found = []
    for lib in (torch, dt):
        x = lib.tensor([1.0, -2.0, 0.5, 4.0], requires_grad=True)
        value = lib.tensor([3.0, -1.5], requires_grad=True)
        y = write(lib, x.to(getattr(lib, name)), value.to(getattr(lib, name)))
        (y.float() * lib.tensor([1.0, 2.0, 3.0, 4.0])[: y.numel()]).sum().backward()
        plain = write(lib, x.detach().to(y.dtype), value.detach().to(y.dtype))
        grads = [None if g is None else g.tolist() for g in (x.grad, value.grad)]
        found.append((y.tolist(), grads, plain.tolist()))
    assert found[0] == found[1]
