"""The arguments of a launch, as the driver reads them: by addresses of their words."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Store
from dovetail.codegen.values import constant, index
from dovetail_cupy.launch import Arguments, CupyMachine

PARAMETERS = (("a", "float32"), ("b", "int64"), ("c", "float64"), ("d", "uint64"),
              ("e", "int32"), ("f", "bool"))  # fmt: skip
FLOATS = st.floats(width=64)
SIGNED, UNSIGNED = st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1)
NUMBERS = st.tuples(
    FLOATS, SIGNED, FLOATS, UNSIGNED, st.integers(-(2**31), 2**31 - 1), st.booleans()
)


def _read(frame: Any, dtypes: list[str]) -> list[Any]:
    """What a kernel finds: each argument at its address, as long as its dtype."""
    table = (ctypes.c_void_p * len(dtypes)).from_address(frame.address)
    found = []
    for address, name in zip(table, dtypes, strict=True):
        dtype = np.dtype(name)
        raw = ctypes.string_at(address or 0, dtype.itemsize)
        found.append(np.frombuffer(raw, dtype)[0])
    return found


@given(NUMBERS, UNSIGNED, st.integers(0, 2**40))
def test_arguments(numbers: tuple[Any, ...], address: int, count: int) -> None:
    """Each has its place and its format; a float32 beyond its format is infinite."""
    arguments = Arguments(2, PARAMETERS)
    frame = arguments.filled([address, 64], numbers, (0, count, 7))
    dtypes = ["uint64", "uint64", *(d for _, d in PARAMETERS), *["int64"] * 3]
    with np.errstate(all="ignore"):
        wanted = [
            np.asarray(n).astype(d)
            for n, (_, d) in zip(numbers, PARAMETERS, strict=True)
        ]
    assert np.array_equal(_read(frame, dtypes)[2:-3], wanted, equal_nan=True)
    assert _read(frame, dtypes)[:2] == [address, 64]
    assert _read(frame, dtypes)[-3:] == [0, count, 7]


def test_frames_are_used_again_and_never_shared() -> None:
    """Two launches at a time have two; one behind another has the same."""
    arguments = Arguments(1, ())
    first, second = (arguments.filled([n], (), (0, 1)) for n in (1, 2))
    assert first.address != second.address
    assert _read(first, ["uint64"]) == [1]
    arguments.spare.append(first)
    assert arguments.filled([3], (), (0, 1)) is first


@pytest.mark.parametrize("number", [2.0, np.float64(3), np.int64(4)])
def test_numbers_of_another_kind(number: Any) -> None:
    """A whole number may come as a float, and NumPy's scalars as they are."""
    frame = Arguments(0, (("n", "int64"),)).filled([], (number,), (0, 1))
    assert _read(frame, ["int64"]) == [int(number)]


class Pretended:
    """As much of CuPy as a machine asks of it, on device 0."""

    is_hip = False
    ndarray = None

    def __init__(self) -> None:
        self.cuda = self.runtime = self

    def getDevice(self) -> int:  # noqa: N802  CUDA's name
        return 0


def test_functions_outlive_whoever_launches_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A graph launches what it recorded, after the kernels that did it are gone."""
    made: list[Any] = []

    def function_of(*_: Any) -> Any:
        made.append(SimpleNamespace(ptr=len(made)))
        return made[-1]

    monkeypatch.setattr("dovetail_cupy.launch.function_of", function_of)
    machine = CupyMachine(Pretended())
    lane = index("lane")
    store = Store(
        Buffer("y", "float32", written=True), lane.value, constant(1, "float32").value
    )
    loop = Loop("lane", lane.value, FIRST, LAST, (store,))
    kernel = Kernel("ones", (store.buffer,), (), (loop,))
    first, again = (machine._function(kernel, False) for _ in range(2))
    assert first is again
    assert machine._function(kernel, True) is not first
    assert len(made) == 2
