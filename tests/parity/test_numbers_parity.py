"""Numbers that become elements: held, wrapped, rounded or refused as in torch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail.errors import DovetailError

torch = pytest.importorskip("torch")

DTYPES: Final = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32",
    "float16", "bfloat16", "float32", "float64", "complex64",
]  # fmt: skip
EDGES: Final = [
    s * ((1 << bits) + d) for bits in (7, 8, 15, 16, 31, 32, 63)
    for d in (-1, 0, 1) for s in (1, -1)
]  # fmt: skip
NUMBERS: Final = st.one_of(
    st.booleans(),
    st.sampled_from(EDGES),
    st.integers(-400, 400),
    st.integers(-(1 << 64) + 1, (1 << 64) - 1),
    st.floats(),
    st.sampled_from([1e300, -1e40, 65519.0, 65520.0, 3.5e38, -0.5, 255.5]),
    st.complex_numbers(),
    st.sampled_from([5 + 0j, 300 + 0j, complex(0, 1e300), complex(math.nan, 0)]),
)
OPERANDS: Final = st.one_of(
    st.booleans(),
    st.sampled_from([n for n in EDGES if -(1 << 63) <= n < 1 << 63]),
    st.integers(-400, 400),
    st.floats(),
)


def _mask(lib: Any) -> Any:
    return lib.tensor([True, False, True])


def _set(lib: Any, dtype: Any, index: Any, value: Any) -> Any:
    x = lib.zeros(3, dtype=dtype)
    x[index] = value
    return x


# Two elements at least: where it is one, torch lets a 16-bit float become infinity.
STORES: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "tensor": lambda lib, d, v: lib.tensor([v], dtype=d),
    "tensor of 0 dims": lambda lib, d, v: lib.tensor(v, dtype=d),
    "full": lambda lib, d, v: lib.full((2,), v, dtype=d),
    "full_like": lambda lib, d, v: lib.full_like(lib.zeros(2, dtype=d), v),
    "new_full": lambda lib, d, v: lib.zeros(1, dtype=d).new_full((2,), v),
    "fill_": lambda lib, d, v: lib.zeros(3, dtype=d).fill_(v),
    "fill": lambda lib, d, v: lib.fill(lib.zeros(3, dtype=d), v),
    "x[1:] =": lambda lib, d, v: _set(lib, d, slice(1, None), v),
    "x[mask] =": lambda lib, d, v: _set(lib, d, _mask(lib), v),
    "x[[0, 1]] =": lambda lib, d, v: _set(lib, d, [0, 1], v),
    "masked_fill": lambda lib, d, v: lib.zeros(3, dtype=d).masked_fill(_mask(lib), v),
    "index_fill": lambda lib, d, v: lib.zeros(3, dtype=d).index_fill(
        0, lib.tensor([0]), v
    ),
    "scatter": lambda lib, d, v: lib.zeros(3, dtype=d).scatter(0, lib.tensor([0]), v),
    "pad": lambda lib, d, v: lib.nn.functional.pad(
        lib.zeros(3, dtype=d), (1, 1), value=v
    ),
}
OPERATORS: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "add": lambda lib, d, v: lib.zeros(3, dtype=d) + v,
    "mul": lambda lib, d, v: lib.ones(3, dtype=d) * v,
    "eq": lambda lib, d, v: lib.zeros(3, dtype=d) == v,
    "lt": lambda lib, d, v: lib.zeros(3, dtype=d) < v,
    "where": lambda lib, d, v: lib.where(_mask(lib), lib.zeros(3, dtype=d), v),
    "mul_": lambda lib, d, v: lib.ones(3, dtype=d).mul_(v),
}


def _result(lib: Any, call: Callable[..., Any], dtype: str, value: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(lib, getattr(lib, dtype), value)


def _values(x: Any) -> Any:
    lib = dt if isinstance(x, dt.Tensor) else torch
    return (x.to(lib.float32) if "bfloat16" in str(x.dtype) else x).numpy()


def _agree(call: Callable[..., Any], dtype: str, value: Any) -> None:
    try:
        theirs = _result(torch, call, dtype, value)
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        # What torch has no kernel for, and what Python's own conversion refuses there:
        # integers that an element holds, but int64 does not.
        if "not implemented" in str(error) or "unpacking" in str(error):
            return
        with pytest.raises(DovetailError):
            _result(dt, call, dtype, value)
        return
    ours = _result(dt, call, dtype, value)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    np.testing.assert_array_equal(_values(ours), _values(theirs))


@pytest.mark.parametrize("entry", STORES)
@settings(max_examples=120, deadline=None, derandomize=True)
@given(dtype=st.sampled_from(DTYPES), value=NUMBERS)
def test_a_number_is_stored(entry: str, dtype: str, value: Any) -> None:
    """The elements are torch's; what torch refuses is refused."""
    _agree(STORES[entry], dtype, value)


@pytest.mark.parametrize("entry", OPERATORS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(dtype=st.sampled_from(DTYPES[:-1]), value=OPERANDS)
def test_a_number_is_an_operand(entry: str, dtype: str, value: Any) -> None:
    """It wraps and overflows as torch's does; what torch refuses is refused."""
    _agree(OPERATORS[entry], dtype, value)


class Rate(float):
    """A number of a class of the caller's own."""


class Count(int):
    """A whole number of a class of the caller's own."""


OF_OTHER_CLASSES: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "x * v": lambda lib, x, v: x * v,
    "v - x": lambda lib, x, v: float(v) - x if isinstance(v, np.generic) else v - x,
    "x ** v": lambda lib, x, v: x**v,
    "x > v": lambda lib, x, v: x > v,
    "x.mul_(v)": lambda lib, x, v: x.clone().mul_(v),
    "where": lambda lib, x, v: lib.where(x > 1, x, v),
    "clamp": lambda lib, x, v: x.clamp(v),
    "alpha": lambda lib, x, v: lib.add(x, x, alpha=v),
    "fill_": lambda lib, x, v: x.clone().fill_(v),
}
CLASSES: Final = (np.float64(2.5), Rate(2.5), np.int64(2), Count(2))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize("value", CLASSES, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("name", OF_OTHER_CLASSES)
def test_numbers_of_other_classes(name: str, value: Any, dtype: str) -> None:
    """NumPy's numbers and subclasses of Python's are the numbers that they are."""
    shown = []
    for lib in (dt, torch):
        x = lib.tensor([1, 2, 3], dtype=getattr(lib, dtype))
        try:
            y = OF_OTHER_CLASSES[name](lib, x, value)
        except (RuntimeError, TypeError, ValueError):
            shown.append("refused")
        else:
            shown.append((str(y.dtype).split(".")[-1], y.tolist()))
    assert shown[0] == shown[1]


FILLS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "full": lambda lib, v: lib.full((2,), v),
    "full_like": lambda lib, v: lib.full_like(lib.zeros(2), v),
    "new_full": lambda lib, v: lib.zeros(2).new_full((2,), v),
    "of a dtype": lambda lib, v: lib.full((2,), v, dtype=lib.float64),
}


@pytest.mark.parametrize("value", [1.5, 3, True])
@pytest.mark.parametrize("name", FILLS)
def test_a_tensor_of_no_dims_is_a_fill_value(name: str, value: Any) -> None:
    """A 0-d tensor fills as its number does, unless a gradient would get lost."""
    found, wanted = (FILLS[name](lib, lib.tensor(value)) for lib in (dt, torch))
    assert str(found.dtype).split(".")[-1] == str(wanted.dtype).split(".")[-1]
    assert found.tolist() == wanted.tolist()
    with pytest.raises(TypeError):
        FILLS[name](dt, dt.tensor(1.5, requires_grad=True))
