"""Functions that make tensors: their common keywords, and the forms that derive."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance.reference import ReferenceBackend
from dovetail.device_api import registry
from dovetail.errors import ArgumentTypeError, DTypeError, NumberOutOfRange

SIZED = ("zeros", "ones", "empty", "rand", "randn")
LIKE = ("zeros", "ones", "empty", "full", "rand", "randn")
NEW = ("zeros", "ones", "empty", "full")
EACH: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(SIZED, ((2, 3),)),
    "full": ((2, 3), 7), "tensor": ([1.0, 2.0],), "eye": (2,), "arange": (3,),
    "linspace": (0, 1, 3), "logspace": (0, 1, 3), "scalar_tensor": (1.5,),
    "empty_strided": ((2,), (1,)), "randint": (3, (2,)), "randperm": (3,),
    "tril_indices": (2, 2), "triu_indices": (2, 2), "normal": (0.0, 1.0, (2,)),
}  # fmt: skip


def own(name: str) -> tuple[Any, ...]:
    """What a form takes beside the size."""
    return EACH[name][1:]


@pytest.mark.parametrize("name", EACH)
def test_dtype_and_grad_are_as_asked(name: str) -> None:
    """All creation functions take `dtype` and `requires_grad`."""
    made = getattr(dt, name)(*EACH[name], dtype=dt.float64, requires_grad=True)
    assert made.dtype is dt.float64
    assert made.requires_grad
    assert made.is_leaf


@pytest.mark.parametrize("name", EACH)
def test_device_is_as_asked(name: str) -> None:
    """All creation functions take `device`."""
    args = EACH[name]
    assert getattr(dt, name)(*args, device="meta").device.type == "meta"


@pytest.mark.parametrize("name", EACH)
def test_layout_is_strided(name: str) -> None:
    """A layout other than None is refused, not passed over."""
    with pytest.raises(ArgumentTypeError, match="layout"):
        getattr(dt, name)(*EACH[name], layout="sparse")


@pytest.mark.parametrize("name", EACH)
def test_unknown_keywords_are_refused(name: str) -> None:
    """What no signature has goes nowhere."""
    with pytest.raises(ArgumentTypeError, match="dtpye"):
        getattr(dt, name)(*EACH[name], dtpye=dt.float64)


@pytest.mark.parametrize("name", LIKE)
def test_like_takes_after_its_input(name: str) -> None:
    """`name_like` has shape, dtype and device of its input, unless others are named."""
    x = dt.empty(3, 2, dtype=dt.float64, device="meta")
    like = getattr(dt, f"{name}_like")
    made = like(x, *own(name))
    assert (made.shape, made.dtype, made.device) == (x.shape, x.dtype, x.device)
    assert like(x, *own(name), dtype=dt.float32).dtype is dt.float32


@pytest.mark.parametrize("name", NEW)
def test_new_takes_after_the_tensor(name: str) -> None:
    """`Tensor.new_name` has dtype and device of the tensor, and a shape of its own."""
    x = dt.empty(3, dtype=dt.int32, device="meta")
    made = getattr(x, f"new_{name}")((2, 4), *own(name))
    assert (made.shape, made.dtype, made.device) == ((2, 4), x.dtype, x.device)
    other = getattr(x, f"new_{name}")((2,), *own(name), dtype=dt.float64)
    assert other.dtype is dt.float64


def test_values_of_the_forms() -> None:
    """The forms give what the function gives."""
    x = dt.tensor([1.5, 2.5])
    assert dt.full_like(x, 4).tolist() == [4.0, 4.0]
    assert x.new_full((1,), 4).tolist() == [4.0]
    assert x.new_tensor([1, 2]).tolist() == [1.0, 2.0]
    assert x.new_ones(1, 2).tolist() == [[1.0, 1.0]]
    assert dt.ones_like(input=x, dtype=dt.int64).tolist() == [1, 1]


def test_a_number_decides_the_dtype_of_full() -> None:
    """Unless a dtype is named, or a tensor is followed."""
    assert dt.full((1,), 1).dtype is dt.int64
    assert dt.full((1,), True).dtype is dt.bool
    assert dt.full((1,), 1.0).dtype is dt.get_default_dtype()
    assert dt.full_like(dt.ones(1), 1).dtype is dt.float32


def test_forms_are_signed_as_they_are_called() -> None:
    """`inspect` and editors see each form's own parameters."""
    of = {
        name: list(inspect.signature(function).parameters)
        for name, function in {
            "full": dt.full, "like": dt.full_like, "new": dt.Tensor.new_full,
        }.items()
    }  # fmt: skip
    common = ["dtype", "layout", "device", "requires_grad", "pin_memory"]
    assert of["full"] == ["size", "fill_value", *common, "out"]
    assert of["like"] == ["input", "fill_value", *common, "memory_format"]
    assert of["new"] == ["self", "size", "fill_value", *common]


class NoLong(ReferenceBackend):
    """The reference device without int64."""

    type = "nolong"
    dtypes = frozenset({dt.bool, dt.int32, dt.float32})


@pytest.fixture
def nolong() -> Iterator[str]:
    """A device that has no int64."""
    registry.register(NoLong())
    yield NoLong.type
    registry.unregister(NoLong.type)


def test_whole_numbers_on_a_device_without_int64(nolong: str) -> None:
    """Python's whole numbers become int32, as counts and indices do there."""
    for made, values in (
        (dt.arange(3, device=nolong), [0, 1, 2]),
        (dt.tensor([1, 2], device=nolong), [1, 2]),
        (dt.tensor(3, device=nolong), 3),
        (dt.as_tensor([[1]], device=nolong), [[1]]),
        (dt.full((2,), 7, device=nolong), [7, 7]),
        (dt.tril_indices(2, 2, device=nolong), [[0, 1, 1], [0, 0, 1]]),
    ):
        assert (made.dtype, made.tolist()) == (dt.int32, values)


def test_what_a_device_without_int64_cannot_hold(nolong: str) -> None:
    """Numbers beyond int32, int64 that is asked for, and arrays of it are refused."""
    with pytest.raises(NumberOutOfRange, match="the range of int32"):
        dt.tensor([2**40], device=nolong)
    for wrong in (
        lambda: dt.tensor([1], dtype=dt.int64, device=nolong),
        lambda: dt.tensor(np.arange(3), device=nolong),
        lambda: dt.tensor([1]).to(nolong),
        lambda: dt.full((2,), 1.0, dtype=dt.float64, device=nolong),
    ):
        with pytest.raises(DTypeError, match="needed one of bool, float32, int32"):
            wrong()
