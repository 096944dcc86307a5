"""Tensors beside NumPy's functions, and in notebooks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.errors import ArgumentError, AutogradError

VALUES = np.array([[1.0, 2.0], [3.0, 5.0]])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "mean": np.mean,
    "sum": lambda x: np.sum(x, axis=0),
    "max": np.max,
    "std": np.std,
    "median": np.median,
    "sort": np.sort,
    "stack": lambda x: np.stack([x, x]),
    "concatenate": lambda x: np.concatenate([x, VALUES]),
    "where": lambda x: np.where(x > 1, x, 0),
    "dot": lambda x: np.dot(x, VALUES),
    "inv": np.linalg.inv,
    "einsum": lambda x: np.einsum("ij->i", x),
    "clip": lambda x: np.clip(x, 0, 2),
    "transpose": np.transpose,
    "allclose": lambda x: np.allclose(x, VALUES),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy_take_tensors(name: str) -> None:
    """Whether through a method or on the values, the result is that of the array."""
    found = FUNCTIONS[name](dt.tensor(VALUES))
    assert np.allclose(np.asarray(found), FUNCTIONS[name](VALUES))


@pytest.mark.parametrize("function", [np.mean, np.sort, np.linalg.inv])
def test_functions_of_numpy_lose_no_gradient(function: Callable[[Any], Any]) -> None:
    """A tensor that requires grad is refused, with what to do about it."""
    with pytest.raises(AutogradError, match=r"use tensor\.detach"):
        function(dt.tensor(VALUES, requires_grad=True))


def test_wrong_calls_of_numpy_stay_wrong() -> None:
    """An error that NumPy has of the arrays too is NumPy's."""
    with pytest.raises(TypeError, match="unexpected keyword"):
        np.mean(dt.tensor(VALUES), nothing=1)


def test_notebooks_show_shape_dtype_and_device() -> None:
    """The text is escaped, and the facts stand below it."""
    shown = dt.ones(2, 3, requires_grad=True).sum()._repr_html_()
    assert "tensor(6., grad_fn=&lt;SumBackward0&gt;)" in shown
    assert shown.endswith("<small>0-d · float32 · cpu</small>")
    assert "2 × 3 · int64 · cpu" in dt.zeros(2, 3, dtype=dt.int64)._repr_html_()


def test_devices_by_the_standards_name() -> None:
    """`to_device` is `to`; it takes no stream."""
    x = dt.ones(2)
    assert x.to_device("cpu") is x
    assert x.to_device("meta").device.type == "meta"
    with pytest.raises(ArgumentError, match="stream"):
        x.to_device("cpu", stream=1)


def test_numbers_of_numpy_are_saved(tmp_path: Any) -> None:
    """Arrays and numbers of NumPy beside tensors come back as they were."""
    saved = {
        "array": np.arange(3, dtype=np.int16), "number": np.float32(2.5),
        "flag": np.bool_(True), "whole": np.int64(7), "tensor": dt.ones(2),
    }  # fmt: skip
    dt.save(saved, tmp_path / "file")
    loaded = dt.load(tmp_path / "file")
    for name in ("array", "number", "flag", "whole"):
        assert type(loaded[name]) is type(saved[name])
        assert loaded[name].dtype == saved[name].dtype
        assert np.array_equal(loaded[name], saved[name])
