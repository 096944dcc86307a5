"""torch's oldest names for tensors, of the fake device and of one that is not there."""

from __future__ import annotations

import pytest

import dovetail as dt
from dovetail.errors import ArgumentError, ArgumentTypeError, DeviceError


def test_a_class_moves_a_tensor() -> None:
    """By its name, or itself; a tensor of the device type stays where it is."""
    x = dt.ones(2, device="fake:1").type("torch.fake.IntTensor")
    assert (str(x.device), x.dtype) == ("fake:1", dt.int32)
    assert str(dt.ones(2).type("torch.fake.FloatTensor").device) == "fake:0"
    y = x.type(dt.DoubleTensor)
    assert (y.device.type, y.dtype) == ("cpu", dt.float64)


def test_a_class_makes_tensors_on_its_device() -> None:
    """Also on another device of the type, and on none of another type."""
    made = dt.get_device_module("fake").FloatTensor
    assert str(made([1.0]).device) == "fake:0"
    assert str(made(2, device="fake:1").device) == "fake:1"
    with pytest.raises(ArgumentError, match="device is 'cpu', needed fake"):
        made(2, device="cpu")


def test_a_class_sets_the_default_device() -> None:
    """One of the CPU's undoes it, and nothing that was chosen otherwise."""
    try:
        dt.set_default_tensor_type("torch.fake.FloatTensor")
        assert str(dt.ones(1).device) == "fake:0"
        dt.set_default_tensor_type("torch.FloatTensor")
        assert str(dt.ones(1).device) == "cpu"
        dt.set_default_device("fake:1")
        dt.set_default_tensor_type("torch.FloatTensor")
        assert str(dt.ones(1).device) == "fake:1"
    finally:
        dt.set_default_device(None)
        dt.set_default_dtype(dt.float32)


def test_devices_that_are_not_there_are_refused() -> None:
    """Nothing stays on the CPU, or changes, unasked."""
    with pytest.raises(ArgumentTypeError, match="devices that are there"):
        dt.set_default_tensor_type("torch.nowhere.DoubleTensor")
    assert dt.get_default_dtype() is dt.float32
    with pytest.raises(DeviceError, match="nowhere"):
        dt.ones(2).type("torch.nowhere.FloatTensor")


@pytest.mark.parametrize("name", ["FloatTensor", "cuda.FloatTensor", "float"])
def test_names_are_whole(name: str) -> None:
    """What is no whole name of a class is refused."""
    with pytest.raises(ArgumentError, match="whole name of a class"):
        dt.ones(2).type(name)
