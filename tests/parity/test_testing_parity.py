"""`testing.assert_close` and `make_tensor`, held against torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail

Library = Any

# Calls that pass, and calls that raise AssertionError; T is the library.
CLOSE = """
t(T.ones(2), T.ones(2) + 1e-6)
t(T.ones(2), T.ones(2))
t(1.0, 1.0 + 1e-9)
t(3, 3)
t([T.ones(2), 1], [T.ones(2), 1])
t({"a": T.ones(1)}, {"a": T.ones(1)})
t(None, None)
t(T.tensor(float("nan")), T.tensor(float("nan")), equal_nan=True)
t(T.ones(0), T.ones(0))
t(T.ones(1), T.ones(1).double(), check_dtype=False)
t(T.tensor([1j]), T.tensor([1j]))
t(T.tensor(1.0), T.tensor(1.5), rtol=0.5, atol=0.0)
t((1, 2.0), [1, 2.0])
t(True, True)
t(T.tensor([1000.0]), T.tensor([1000.001]))
t(T.tensor(float("inf")), T.tensor(float("inf")))
t(T.half_(1), T.half_(1.0005))
t(T.ones(2, 3).t(), T.ones(3, 2))
t(np.ones(2), np.ones(2))
t(1, 1.0, check_dtype=False)
t(T.tensor([1, 2]), T.tensor([1, 3]), rtol=0.0, atol=1.0)
""".strip().splitlines()
FAR = """
t(T.ones(2), T.ones(2) + 1e-4)
t(T.ones(2), T.ones(3))
t(T.ones(1), T.ones(1).double())
t([1], [1, 2])
t({"a": 1}, {"b": 1})
t(None, 1)
t(1.0, 2.0)
t(3, 4)
t(1, 1.0)
t(T.tensor(float("nan")), T.tensor(float("nan")))
t(T.tensor([1]), T.tensor([2]))
t(T.ones(2, 3).t(), T.ones(3, 2), check_stride=True)
t(True, False)
t(T.tensor([1e-3]), T.tensor([1.02e-3]), rtol=1e-3, atol=0.0)
t([T.ones(2), T.zeros(2)], [T.ones(2), T.ones(2)])
t(T.tensor(1.0), T.tensor(float("inf")))
t(T.tensor([1e-3, 5.0]), T.tensor([0.0, 5.0]))
t(T.tensor([True]), T.tensor([False]))
""".strip().splitlines()


class _With:
    """A library with a maker of float16 numbers beside its own names."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def half_(self, value: float) -> Any:
        return self.library.tensor(value, dtype=self.library.float16)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)


def run(library: Library, line: str) -> str:
    """What a line's error says, or nothing."""
    names = {"T": _With(library), "t": library.testing.assert_close, "np": np}
    try:
        eval(line, names)
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("line", CLOSE)
def test_what_is_close(line: str) -> None:
    """Values that torch takes for equal are."""
    assert run(torch, line) == ""
    assert run(dovetail, line) == ""


@pytest.mark.parametrize("line", FAR)
def test_what_is_not(line: str) -> None:
    """Others are refused, for the reason in torch's words, as its first line is."""
    theirs, ours = run(torch, line), run(dovetail, line)
    assert theirs
    assert ours
    first = theirs.splitlines()[0].replace("torch.", "dovetail.")
    assert ours.splitlines()[0][:30] == first[:30]


def test_tolerances_may_be_tensors() -> None:
    """Of one element."""
    for t in (torch, dovetail):
        x, limit = t.ones(2), t.tensor(1e-3)
        t.testing.assert_close(x, x + 1e-4, rtol=0, atol=limit)
        with pytest.raises(AssertionError, match="not close"):
            t.testing.assert_close(x, x + 1e-2, rtol=limit, atol=limit)


def test_the_report_counts_and_places() -> None:
    """The error says how many elements differ, by how much, and where."""
    text = [
        run(library, "t([T.tensor([1.0, 2.0, 4.0])], [T.tensor([1.0, 2.5, 4.0])])")
        for library in (dovetail, torch)
    ]
    assert text[0] == text[1]
    with pytest.raises(AssertionError, match="mine: Scalars are not close"):
        dovetail.testing.assert_close(1.0, 2.0, msg=lambda words: f"mine: {words}")
    with pytest.raises(ValueError, match="both"):
        dovetail.testing.assert_close(1.0, 1.0, rtol=1e-3)


DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "complex64",
)


@pytest.mark.parametrize("name", DTYPES)
def test_samples_lie_between_the_bounds(name: str) -> None:
    """Tensors of a dtype have its default bounds, or those that are given."""
    dtype = getattr(dovetail, name)
    make = dovetail.testing.make_tensor
    x = make(40, 5, dtype=dtype, device="cpu", exclude_zero=name != "bool")
    assert (tuple(x.shape), x.dtype) == ((40, 5), dtype)
    parts = dovetail.view_as_real(x) if dtype.is_complex else x
    values = parts.double().numpy()
    assert values.min() >= (0 if name in ("bool", "uint8") else -9)
    assert values.max() <= 9
    assert len(np.unique(values)) >= (2 if name == "bool" else 8)
    if name != "bool":
        assert np.all(x.to(dovetail.complex64).numpy() != 0)
        narrow = make((50,), dtype=dtype, device="cpu", low=2, high=4)
        values = narrow.to(dovetail.complex64).numpy().real
        assert values.min() >= 2
        assert values.max() <= 4


def test_samples_lie_in_memory_as_asked() -> None:
    """They are spread, or in a memory format, and leaves where gradients are wanted."""
    make = dovetail.testing.make_tensor
    x = make(2, 3, dtype=dovetail.float32, device="cpu", noncontiguous=True)
    assert x.stride() == (6, 2)
    last = dovetail.channels_last
    y = make(
        2, 3, 4, 5, dtype=dovetail.float32, device="cpu", memory_format=last,
        requires_grad=True,
    )  # fmt: skip
    assert y.is_contiguous(memory_format=last)
    assert y.is_leaf
    with pytest.raises(ValueError, match="low"):
        make(2, dtype=dovetail.float32, device="cpu", low=3, high=1)
    with pytest.raises(ValueError, match="number of int64"):
        make(2, dtype=dovetail.int64, device="cpu", low=0.2, high=0.4)
